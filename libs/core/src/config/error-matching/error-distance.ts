import { isNativeError } from 'node:util/types';
import { httpStatusOf, isOneOf, read } from '../../failures/faults/thrown.js';
import { simpleName, type ErrorMatcher } from './error-matcher.js';

/** A code, a status or a function is about this very error: closer than any class. */
const CLOSEST = -1;

/** Deeper than any classes inherit: whatever names the error is closer than what names its cause. */
const FURTHER = 1_000;
const DEEPEST_CAUSE = 8;

/**
 * How closely a matcher names an error: 0 is its own class, each class it inherits from is one
 * further. undefined where it does not match. Java names match by their last part, too.
 */
export function errorDistance(matcher: ErrorMatcher, error: Error): number | undefined {
  if (typeof matcher === 'string') return distanceToName(matcher, error);
  if (typeof matcher === 'function')
    return distanceTo(error, ({ constructor }) => constructor === matcher);
  if ('matches' in matcher) return matcher.matches(error) ? CLOSEST : undefined;
  if ('name' in matcher) return distanceToName(matcher.name, error);
  const isMeant =
    'status' in matcher
      ? httpStatusOf(error) === matcher.status
      : read(error, 'code') === matcher.code;
  return isMeant ? CLOSEST : undefined;
}

/** Of the one that matches most closely. An error that none names is looked for in its causes. */
export function closestDistance(
  matchers: readonly ErrorMatcher[],
  error: Error,
): number | undefined {
  if (matchers.length === 0) return undefined;
  let at: unknown = error;
  for (let depth = 0; isErrorLike(at) && depth <= DEEPEST_CAUSE; depth++) {
    const here = at;
    const distances = matchers.flatMap((matcher) => errorDistance(matcher, here) ?? []);
    if (distances.length > 0) return Math.min(...distances) + depth * FURTHER;
    at = read(at, 'cause');
  }
  return undefined;
}

/** Node's own errors are of another realm where a test runner or a worker makes one. */
const isErrorLike = (value: unknown): value is Error =>
  isOneOf(value, [Error]) || isNativeError(value);

/** A `name` counts as well as the class's: bundlers change the one, and libraries set the other. */
function distanceToName(wanted: string, error: Error): number | undefined {
  const simple = simpleName(wanted);
  const isMeant = (name: unknown): boolean => name === wanted || name === simple;
  if (isMeant(ownNameOf(error))) return 0;
  return distanceTo(
    error,
    (prototype) => isMeant(prototype.constructor.name) || isMeant(ownName(prototype)),
  );
}

/** A getter, such as DOMException's, speaks of the error and not of the class that has it. */
function ownNameOf(error: Error): unknown {
  let at: object = error;
  while (!Object.hasOwn(at, 'name')) {
    const above: unknown = Object.getPrototypeOf(at);
    if (typeof above !== 'object' || above === null) return undefined;
    at = above;
  }
  const isOwnName = at === error || Object.getOwnPropertyDescriptor(at, 'name')?.get !== undefined;
  return isOwnName ? error.name : undefined;
}

/** Error.prototype has a name that each class inherits: only its own tells it from others. */
function ownName(prototype: object): unknown {
  return Object.getOwnPropertyDescriptor(prototype, 'name')?.value;
}

function distanceTo(error: Error, isMeant: (prototype: Prototype) => boolean): number | undefined {
  let distance = 0;
  let at = Object.getPrototypeOf(error) as Prototype | null;
  for (; at !== null; at = Object.getPrototypeOf(at) as Prototype | null) {
    if (Object.hasOwn(at, 'constructor') && isMeant(at)) return distance;
    distance++;
  }
  return undefined;
}

interface Prototype {
  readonly constructor: { readonly name: string };
}
