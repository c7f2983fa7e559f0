import { isNativeError } from 'node:util/types';
import { httpStatusOf, isOneOf, read } from '../../failures/faults/thrown.js';
import { simpleName, type ErrorMatcher } from './error-matcher.js';

/**
 * Distance of a code, a status or a function. They match the error itself, so they are closer than
 * any class.
 */
const CLOSEST = -1;

/**
 * Distance per cause. It is larger than any class hierarchy, so that a match of the error is closer
 * than one of its cause.
 */
const DISTANCE_PER_CAUSE = 1_000;
const MAX_CAUSE_DEPTH = 8;

/**
 * Returns how closely a matcher matches an error: 0 for its own class, one more for each base class.
 * Returns undefined if it does not match. Java names also match by their last part.
 */
export function errorDistance(matcher: ErrorMatcher, error: Error): number | undefined {
  if (typeof matcher === 'string') return distanceToName(matcher, error);
  if (typeof matcher === 'function')
    return distanceTo(error, ({ constructor }) => constructor === matcher);
  if ('matches' in matcher) return matcher.matches(error) ? CLOSEST : undefined;
  if ('name' in matcher) return distanceToName(matcher.name, error);
  const isMatch =
    'status' in matcher
      ? httpStatusOf(error) === matcher.status
      : read(error, 'code') === matcher.code;
  return isMatch ? CLOSEST : undefined;
}

/** Returns the distance of the closest matcher. If no matcher matches the error, its causes are tried. */
export function closestDistance(
  matchers: readonly ErrorMatcher[],
  error: Error,
): number | undefined {
  if (matchers.length === 0) return undefined;
  let current: unknown = error;
  for (let depth = 0; isErrorLike(current) && depth <= MAX_CAUSE_DEPTH; depth++) {
    const candidate = current;
    const distances = matchers.flatMap((matcher) => errorDistance(matcher, candidate) ?? []);
    if (distances.length > 0) return Math.min(...distances) + depth * DISTANCE_PER_CAUSE;
    current = read(current, 'cause');
  }
  return undefined;
}

/** Also accepts errors of another realm, such as Node's own errors inside a test runner or a worker. */
const isErrorLike = (value: unknown): value is Error =>
  isOneOf(value, [Error]) || isNativeError(value);

/**
 * Compares the `name` property and the name of the class: bundlers change class names, and
 * libraries set `name`.
 */
function distanceToName(name: string, error: Error): number | undefined {
  const simple = simpleName(name);
  const isMatch = (candidate: unknown): boolean => candidate === name || candidate === simple;
  if (isMatch(ownNameOf(error))) return 0;
  return distanceTo(
    error,
    (prototype) => isMatch(prototype.constructor.name) || isMatch(ownName(prototype)),
  );
}

/**
 * Returns the name that belongs to the error itself. A getter, such as that of DOMException,
 * describes the error and not its class.
 */
function ownNameOf(error: Error): unknown {
  let current: object = error;
  while (!Object.hasOwn(current, 'name')) {
    const above: unknown = Object.getPrototypeOf(current);
    if (typeof above !== 'object' || above === null) return undefined;
    current = above;
  }
  const isOwnName =
    current === error || Object.getOwnPropertyDescriptor(current, 'name')?.get !== undefined;
  return isOwnName ? error.name : undefined;
}

/**
 * Returns the name that a prototype defines itself, because each class inherits the name of
 * Error.prototype.
 */
function ownName(prototype: object): unknown {
  return Object.getOwnPropertyDescriptor(prototype, 'name')?.value;
}

function distanceTo(error: Error, isMatch: (prototype: Prototype) => boolean): number | undefined {
  let distance = 0;
  let current = Object.getPrototypeOf(error) as Prototype | null;
  for (; current !== null; current = Object.getPrototypeOf(current) as Prototype | null) {
    if (Object.hasOwn(current, 'constructor') && isMatch(current)) return distance;
    distance++;
  }
  return undefined;
}

interface Prototype {
  readonly constructor: { readonly name: string };
}
