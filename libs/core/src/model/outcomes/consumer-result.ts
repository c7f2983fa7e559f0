/** The error behind a failure result, if there is one. */
export interface FailureResultOptions {
  readonly cause?: unknown;
}

/** Shared by every copy of this library in the process, unlike a class. */
const BRAND = Symbol.for('nest-event-bus:consumer-result');

/** Has the same effect as returning nothing. */
export class SuccessResult {
  readonly kind = 'success';
  readonly [BRAND] = true;
}

/** Sends the record to the next retry topic, after as many calls as the binding allows. */
export class RetryableResult {
  readonly kind = 'retryable';
  readonly [BRAND] = true;
  readonly cause: unknown;

  constructor(
    readonly reason: string,
    { cause }: FailureResultOptions = {},
  ) {
    this.cause = cause;
  }
}

/** Sends the record to the dead-letter topic at once: the message is bad. */
export class ErrorResult {
  readonly kind = 'error';
  readonly [BRAND] = true;
  readonly cause: unknown;

  constructor(
    readonly reason: string,
    { cause }: FailureResultOptions = {},
  ) {
    this.cause = cause;
  }
}

/** A handler may return it instead of throwing. Any other value that a handler returns is ignored. */
export type ConsumerResult = SuccessResult | RetryableResult | ErrorResult;

export const ConsumerResult = Object.freeze({
  success: (): SuccessResult => new SuccessResult(),
  retryable: (reason: string, options?: FailureResultOptions): RetryableResult =>
    new RetryableResult(reason, options),
  error: (reason: string, options?: FailureResultOptions): ErrorResult =>
    new ErrorResult(reason, options),
});

/** Checks the brand, because an object of the application may have a `kind` as well. */
export function isConsumerResult(value: unknown): value is ConsumerResult {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return (value as { readonly [BRAND]?: unknown })[BRAND] === true;
  } catch {
    // A proxy that throws when it is read is no result of ours.
    return false;
  }
}
