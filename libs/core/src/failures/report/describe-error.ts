import type { ResolvedDlt } from '../../config/resolving/resolved-binding.js';
import type { ErrorDescription } from '../../model/outcomes/failure-report.js';
import { isOneOf } from '../faults/thrown.js';
import { limitedText } from './limited-text.js';

/** In bytes of UTF-8. */
export const TEXT_LIMITS = Object.freeze({ className: 256, message: 1024, stack: 2048 });

export type DescriptionOptions = Pick<ResolvedDlt, 'exceptionDetail' | 'redact'>;

/** Never throws, whatever the error has for properties and `redact` does. */
export function describeError(
  error: Error,
  { exceptionDetail, redact }: DescriptionOptions,
): ErrorDescription {
  const names = namesOf(error);
  if (exceptionDetail === 'class') return names;
  const said = redact ? redactedText(error, redact) : originalText(error);
  return said ? { ...names, ...limited(said) } : { ...names, isRedactionBroken: true };
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
    // Told by isRedactionBroken. What it threw may hold what it was to take out.
    return undefined;
  }
}

function toErrorText(given: unknown): ErrorText | undefined {
  if (typeof given !== 'object' || given === null) return undefined;
  // A promise that nobody waits for must not become an unhandled rejection.
  if (given instanceof Promise) given.catch(() => undefined);
  const { message, stack } = given as Readonly<Record<string, unknown>>;
  if (typeof message !== 'string') return undefined;
  if (stack === undefined) return { message };
  return typeof stack === 'string' ? { message, stack } : undefined;
}

function namesOf(error: Error): ErrorDescription {
  const cause = readSafely(() => error.cause);
  return {
    className: classNameOf(error),
    ...(isOneOf(cause, [Error]) ? { causeClassName: classNameOf(cause as Error) } : {}),
  };
}

/**
 * A name that the error or its very class was given; bundlers change those of classes. Else the
 * class's: an inherited name is that of another one.
 */
function classNameOf(error: Error): string {
  const candidates = [readSafely(() => givenName(error)), readSafely(() => error.constructor.name)];
  const name = candidates.find((each) => typeof each === 'string' && each !== '');
  return limitedText(typeof name === 'string' ? name : 'Error', TEXT_LIMITS.className);
}

function givenName(error: Error): unknown {
  const prototype = Object.getPrototypeOf(error) as object;
  return [error, prototype].some((each) => Object.hasOwn(each, 'name')) ? error.name : undefined;
}

/** Whoever throws may give its error getters that throw. Then it is as if it had no such property. */
function readSafely(read: () => unknown): unknown {
  try {
    return read();
  } catch {
    return undefined;
  }
}
