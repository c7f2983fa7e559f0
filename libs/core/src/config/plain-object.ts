export type PlainObject = Readonly<Record<string, unknown>>;

/** A literal, or what JSON.parse made, of any realm: neither a class instance nor a list. */
export function isPlainObject(value: unknown): value is PlainObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Keys through which a configuration file could reach into every object of the process. */
export const isForbiddenKey = (key: string): boolean => FORBIDDEN_KEYS.has(key);

/** Freezes literals and lists all the way down. Class instances and functions belong to somebody else. */
export function deepFreeze<T>(value: T): T {
  if (Array.isArray(value)) value.forEach(deepFreeze);
  else if (isPlainObject(value)) Object.values(value).forEach(deepFreeze);
  else return value;
  return Object.freeze(value);
}
