import type { CommandCall } from '../command.js';

/** A word of the call. Its number was checked before. */
export const wordAt = ({ words }: CommandCall, index: number): string => words[index] ?? '';

/** The cluster as a part of the query. */
export const clusterOf = ({ options }: CommandCall): { readonly cluster?: string } =>
  options.cluster === undefined ? {} : { cluster: options.cluster };

/** Writes the answer as JSON with `--json`, and as text otherwise. */
export function print(
  { options, output }: CommandCall,
  answer: unknown,
  text: () => readonly string[],
): void {
  if (options.json === true) output.json(answer, 'lines');
  else for (const line of text()) output.line(line);
}
