/** Says how much of an exception is written to logs, and to the headers of its record. */
export type ExceptionDetail = 'full' | 'class';

/**
 * Function that returns the message and the stack to write for an exception. If it returns no
 * stack, no stack is written.
 */
export type ErrorRedaction = (error: Error) => {
  readonly message: string;
  readonly stack?: string;
};
