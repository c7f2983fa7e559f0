/**
 * Survivors that were read and change no promise, with the reason.
 * @type {readonly { file: string, source: string, change: string, because: string }[]}
 */
export const JUDGED_MUTANTS = [
  {
    file: 'assembly/clusters.ts',
    source: "if (compression === 'none') continue;",
    change: "'none' -> 'none-mutant'",
    because: 'Every driver writes without compression, so the check below accepts it.',
  },
  {
    file: 'failures/faults/fault-of.ts',
    source: 'return ofDependency ?? (isMessage ? rules[0] : undefined);',
    change: '0 -> 1',
    because: 'All rules of the list are faults of the message, and only the fault decides.',
  },
  {
    file: 'consuming/lanes/serial-lane.ts',
    source: 'this.#previousHandlers = [];',
    change: 'without: this.#previousHandlers = [];',
    because: 'Handlers that have ended are waited for once more, which takes no time.',
  },
];

/**
 * @param {{ file: string, source: string, change: string }} mutant
 * @returns {string | undefined}
 */
export const judgementOf = ({ file, source, change }) =>
  JUDGED_MUTANTS.find(
    (each) => file.endsWith(each.file) && each.source === source && each.change === change,
  )?.because;
