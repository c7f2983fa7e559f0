/** The command line is wrong. Its message says how to write it. */
export class CommandUsageError extends Error {
  override readonly name = 'CommandUsageError';
}
