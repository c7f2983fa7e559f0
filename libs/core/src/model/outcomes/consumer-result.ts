/** Why a handler says that it failed. */
export interface FailureResultOptions {
  readonly cause?: unknown;
}

/** The same in every copy of this library that a process may hold. */
const BRAND = Symbol.for('nest-event-bus:consumer-result');

/** As if the handler had returned nothing. */
export class SuccessResult {
  readonly kind = 'success';
  readonly [BRAND] = true;
}

/** The record goes to the next retry topic once it was tried as often as the binding says. */
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

/** The record is bad: it goes to the dead-letter topic at once. */
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

/** What a handler may return instead of throwing. Anything else that it returns means nothing. */
export type ConsumerResult = SuccessResult | RetryableResult | ErrorResult;

export const ConsumerResult = Object.freeze({
  success: (): SuccessResult => new SuccessResult(),
  retryable: (reason: string, options?: FailureResultOptions): RetryableResult =>
    new RetryableResult(reason, options),
  error: (reason: string, options?: FailureResultOptions): ErrorResult =>
    new ErrorResult(reason, options),
});

/** Known by its brand: an object of the application may have a `kind` as well. */
export function isConsumerResult(value: unknown): value is ConsumerResult {
  if (typeof value !== 'object' || value === null) return false;
  try {
    return (value as { readonly [BRAND]?: unknown })[BRAND] === true;
  } catch {
    // A proxy that does not like to be asked is none of ours.
    return false;
  }
}
