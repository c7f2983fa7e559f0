/**
 * Survivors that were read and change no promise, with the reason.
 * @type {readonly { file: string, change: string, because: string }[]}
 */
export const JUDGED_MUTANTS = [];

/**
 * @param {{ file: string, change: string }} mutant
 * @returns {string | undefined}
 */
export const judgementOf = ({ file, change }) =>
  JUDGED_MUTANTS.find((each) => file.endsWith(each.file) && each.change === change)?.because;
