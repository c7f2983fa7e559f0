export type PlainObject = Readonly<Record<string, unknown>>;

/** A literal, or what JSON.parse made, of any realm: neither a class instance nor a list. */
export function isPlainObject(value: unknown): value is PlainObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** What one place says, as against an object with methods, or classes in it, which its writer uses as it is. */
export const isSettings = (value: unknown): value is PlainObject =>
  isPlainObject(value) && !Object.values(value).some((inner) => typeof inner === 'function');

const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Keys through which a configuration file could reach into every object of the process. */
export const isForbiddenKey = (key: string): boolean => FORBIDDEN_KEYS.has(key);

/** Freezes settings and lists all the way down. Whatever has methods belongs to somebody else. */
export function deepFreeze<T>(value: T): T {
  if (Array.isArray(value)) value.forEach(deepFreeze);
  else if (isSettings(value)) Object.values(value).forEach(deepFreeze);
  else return value;
  return Object.freeze(value);
}

/** As `deepFreeze`, for settings that were put together here and may hold functions. */
export function freezeSettings<T extends object>(settings: T): T {
  Object.values(settings).forEach(deepFreeze);
  return Object.freeze(settings);
}
