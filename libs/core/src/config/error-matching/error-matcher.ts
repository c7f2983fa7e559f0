import { isPlainObject } from '../reading/plain-object.js';
import { Property } from '../properties/property-decorators.js';
import { formatValue } from '../reading/format-value.js';

export type ErrorClass = abstract new (...args: never[]) => Error;

/** An error class, its name, an error's `code` or HTTP status, or a function that checks the error. */
export type ErrorMatcher =
  | string
  | { readonly code: string | number }
  | { readonly status: number }
  | { readonly name: string }
  | ErrorClass
  | { readonly matches: (error: Error) => boolean };

const EXPECTED =
  'an error class, the name of one, { name }, { code }, { status } or { matches: (error) => boolean }';

/** Class name, optionally with a package: `TimeoutError`, `java.lang.IllegalArgumentException`. */
const CLASS_NAME = /^[A-Za-z_$][\w$]*(\.[A-Za-z_$][\w$]*)*$/;

export const isClassName = (value: string): boolean => CLASS_NAME.test(value);

/** Removes the package from a class name. */
export const simpleName = (name: string): string => name.slice(name.lastIndexOf('.') + 1);

export function isErrorMatcher(value: unknown): value is ErrorMatcher {
  if (typeof value === 'string') return isClassName(value);
  if (typeof value === 'function') return isErrorClass(value);
  if (typeof value !== 'object' || value === null) return false;
  if ('matches' in value) return typeof value.matches === 'function';
  return isPlainObject(value) && hasOneValidProperty(value);
}

function hasOneValidProperty(value: Readonly<Record<string, unknown>>): boolean {
  const [key, ...others] = Object.keys(value);
  if (others.length > 0) return false;
  if (key === 'status') return isFailureStatus(value[key]);
  const expected = key === 'name' || key === 'code' ? value[key] : undefined;
  return (
    (typeof expected === 'string' && expected !== '') ||
    (key === 'code' && typeof expected === 'number')
  );
}

/** Accepts HTTP statuses of failures only, which start at 400. */
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
 * Compares two matchers as far as that is possible without an error: a class, its name and `{ name }`
 * are the same. Two different classes with the same name are not.
 */
export function isSameMatcher(one: ErrorMatcher, other: ErrorMatcher): boolean {
  if (typeof one === 'function' && typeof other === 'function') return one === other;
  const identity = matcherIdentity(one);
  return identity !== undefined && identity === matcherIdentity(other);
}

/** Returns a comparable text; undefined for a function, which may match anything. */
function matcherIdentity(matcher: ErrorMatcher): string | undefined {
  if (typeof matcher === 'string') return `name ${matcher}`;
  if (typeof matcher === 'function') return `name ${matcher.name}`;
  if ('matches' in matcher) return undefined;
  if ('name' in matcher) return `name ${matcher.name}`;
  return 'status' in matcher ? `status ${matcher.status}` : `code ${matcher.code}`;
}

/** Formats a matcher for messages. */
export function formatMatcher(matcher: ErrorMatcher): string {
  return matcherIdentity(matcher)?.replace(/^name /, '') ?? 'a function';
}
