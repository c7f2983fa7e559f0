import { isPlainObject } from '../reading/plain-object.js';
import { Property } from '../properties/property-decorators.js';
import { formatValue } from '../reading/format-value.js';

export type ErrorClass = abstract new (...args: never[]) => Error;

/** An error class, the known name of one, an error's `code` or HTTP status, or a function that looks at the error. */
export type ErrorMatcher =
  | string
  | { readonly code: string | number }
  | { readonly status: number }
  | { readonly name: string }
  | ErrorClass
  | { readonly matches: (error: Error) => boolean };

const EXPECTED =
  'an error class, the name of one, { name }, { code }, { status } or { matches: (error) => boolean }';

/** `TimeoutError`, or with a package: `java.lang.IllegalArgumentException`. */
const CLASS_NAME = /^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$/;

export const isClassName = (value: string): boolean => CLASS_NAME.test(value);

/** Without the package. */
export const simpleName = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

export function isErrorMatcher(value: unknown): value is ErrorMatcher {
  if (typeof value === 'string') return isClassName(value);
  if (typeof value === 'function') return isErrorClass(value);
  if (typeof value !== 'object' || value === null) return false;
  if ('matches' in value) return typeof value.matches === 'function';
  return isPlainObject(value) && isOneProperty(value);
}

function isOneProperty(value: Readonly<Record<string, unknown>>): boolean {
  const [key, ...others] = Object.keys(value);
  if (others.length > 0) return false;
  if (key === 'status') return isFailureStatus(value[key]);
  const wanted = key === 'name' || key === 'code' ? value[key] : undefined;
  return (
    (typeof wanted === 'string' && wanted !== '') || (key === 'code' && typeof wanted === 'number')
  );
}

/** Of HTTP: below 400 nothing has failed. */
const isFailureStatus = (value: unknown): boolean =>
  Number.isInteger(value) && Number(value) >= 400 && Number(value) <= 599;

export const isErrorClass = (value: unknown): value is ErrorClass =>
  typeof value === 'function' && (value === Error || value.prototype instanceof Error);

export function IsErrorMatcher(): PropertyDecorator {
  return Property({
    kind: 'matcher',
    rule: 'ERROR_MATCHER',
    accepts: isErrorMatcher,
    complaint: (value) => `must be ${EXPECTED}; got ${formatValue(value)}.`,
  });
}

export function IsErrorMatchers(): PropertyDecorator {
  return Property({
    kind: 'matchers',
    rule: 'ERROR_MATCHER',
    accepts: (value) => Array.isArray(value) && Array.from<unknown>(value).every(isErrorMatcher),
    complaint: (value) => {
      if (!Array.isArray(value)) return `must be a list; got ${formatValue(value)}.`;
      const index = Array.from<unknown>(value).findIndex((item) => !isErrorMatcher(item));
      return `must be a list in which each item is ${EXPECTED}; item ${index} is ${formatValue(value[index])}.`;
    },
  });
}

/**
 * Whether two matchers name the same errors, where that can be told by looking at them: a class,
 * its name and `{ name }` of it do. Two classes may have one name and are not the same.
 */
export function isSameMatcher(one: ErrorMatcher, other: ErrorMatcher): boolean {
  if (typeof one === 'function' && typeof other === 'function') return one === other;
  const identity = matcherIdentity(one);
  return identity !== undefined && identity === matcherIdentity(other);
}

/** undefined for a function, which may match anything. */
function matcherIdentity(matcher: ErrorMatcher): string | undefined {
  if (typeof matcher === 'string') return `name ${matcher}`;
  if (typeof matcher === 'function') return `name ${matcher.name}`;
  if ('matches' in matcher) return undefined;
  if ('name' in matcher) return `name ${matcher.name}`;
  return 'status' in matcher ? `status ${matcher.status}` : `code ${matcher.code}`;
}

/** For messages. */
export function formatMatcher(matcher: ErrorMatcher): string {
  return matcherIdentity(matcher)?.replace(/^name /, '') ?? 'a function';
}
