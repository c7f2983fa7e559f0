import { errorNameOf } from '@nest-event-bus/broker';
import type {
  ErrorRedaction,
  ExceptionDetail,
} from '../../model/extension-points/error-redaction.js';
import type { ErrorDescription } from '../../model/outcomes/failure-report.js';
import { limitedText } from './limited-text.js';

/** Limits in bytes of UTF-8. */
export const TEXT_LIMITS = Object.freeze({ className: 256, message: 1024, stack: 2048 });

/** `dlt.exceptionDetail` and `dlt.redact` of a binding. */
export interface DescriptionOptions {
  readonly exceptionDetail: ExceptionDetail;
  readonly redact?: ErrorRedaction | undefined;
}

/**
 * Describes an error, as far as `dlt.exceptionDetail` and `dlt.redact` allow. Never throws,
 * whatever the properties of the error and `redact` do.
 */
export function describeError(
  error: Error,
  { exceptionDetail, redact }: DescriptionOptions,
): ErrorDescription {
  const names = namesOf(error);
  if (exceptionDetail === 'class') return names;
  const text = redact ? redactedText(error, redact) : originalText(error);
  return text ? { ...names, ...limited(text) } : { ...names, isRedactionBroken: true };
}

interface ErrorText {
  readonly message: string;
  readonly stack?: string;
}

function limited({ message, stack }: ErrorText): ErrorText {
  return {
    message: limitedText(message, TEXT_LIMITS.message),
    ...(stack === undefined ? {} : { stack: limitedText(stack, TEXT_LIMITS.stack) }),
  };
}

function originalText(error: Error): ErrorText {
  const message = readSafely(() => error.message);
  const stack = readSafely(() => error.stack);
  return {
    message: typeof message === 'string' ? message : '',
    ...(typeof stack === 'string' ? { stack } : {}),
  };
}

function redactedText(
  error: Error,
  redact: NonNullable<DescriptionOptions['redact']>,
): ErrorText | undefined {
  try {
    return toErrorText(redact(error));
  } catch {
    // The caller sees isRedactionBroken. The error of `redact` is dropped, because it may contain
    // the text that should have been removed.
    return undefined;
  }
}

function toErrorText(given: unknown): ErrorText | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  // The promise is ignored, and must not become an unhandled rejection.
  if (given instanceof Promise) given.catch(() => undefined);
  const { message, stack } = given as Readonly<Record<string, unknown>>;
  if (typeof message !== 'string') return undefined;
  if (stack === undefined) return { message };
  return typeof stack === 'string' ? { message, stack } : undefined;
}

function namesOf(error: Error): ErrorDescription {
  const cause = readSafely(() => error.cause);
  const isError = readSafely(() => cause instanceof Error) === true;
  return {
    className: nameOf(error),
    ...(isError ? { causeClassName: nameOf(cause) } : {}),
  };
}

const nameOf = (thrown: unknown): string => limitedText(errorNameOf(thrown), TEXT_LIMITS.className);

/** Reads a property of an error. A property whose getter throws counts as missing. */
function readSafely(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}
