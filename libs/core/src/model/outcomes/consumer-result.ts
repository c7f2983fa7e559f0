/** Options of a failure result, such as the error behind it. */
export interface FailureResultOptions {
  readonly cause?: unknown;
}

/**
 * Brand of all results. Every copy of this library in the process has the same brand, which is not
 * true for a class.
 */
const BRAND = Symbol.for('nest-event-bus:consumer-result');

/** Result of a handler that succeeded. Returning undefined has the same effect. */
export class SuccessResult {
  readonly kind = 'success';
  readonly [BRAND] = true;
}

/**
 * Result of a handler that should be called again. After all calls that the binding allows, the
 * record goes to the next retry topic.
 */
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

/** Result of a handler whose message is bad. The record goes to the dead-letter topic at once. */
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

/** Result that a handler may return instead of throwing. Any other returned value is ignored. */
export type ConsumerResult = SuccessResult | RetryableResult | ErrorResult;

export const ConsumerResult = Object.freeze({
  success: (): SuccessResult => new SuccessResult(),
  retryable: (reason: string, options?: FailureResultOptions): RetryableResult =>
    new RetryableResult(reason, options),
  error: (reason: string, options?: FailureResultOptions): ErrorResult =>
    new ErrorResult(reason, options),
});

/**
 * Returns whether the value is a result. The brand is checked, because an object of the application
 * may have a `kind` as well.
 */
export function isConsumerResult(value: unknown): value is ConsumerResult {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return (value as { readonly [BRAND]?: unknown })[BRAND] === true;
  } catch {
    // A proxy that throws when it is read is no result of this library.
    return false;
  }
}
