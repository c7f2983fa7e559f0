import { asError } from '../as-error.js';
import { describeError, type DescriptionOptions } from './describe-error.js';

export interface ErrorContext {
  /** The name of the error's class. */
  readonly error: string;
  readonly message?: string;
  readonly stack?: string;
}

/**
 * Returns the context of a log line about an error that the application has thrown for a binding:
 * what `dlt.exceptionDetail` and `dlt.redact` leave of it.
 */
export function errorContext(thrown: unknown, options: DescriptionOptions): ErrorContext {
  const { className, message, stack } = describeError(asError(thrown), options);
  return {
    error: className,
    ...(message === undefined ? {} : { message }),
    ...(stack === undefined ? {} : { stack }),
  };
}
