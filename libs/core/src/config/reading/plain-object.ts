export type PlainObject = Readonly<Record<string, unknown>>;

/** Accepts an object literal or a result of JSON.parse, of any realm, but no class instance and no list. */
export function isPlainObject(value: unknown): value is PlainObject {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/**
 * Accepts a section of options. An object that contains functions or classes is not a section, but
 * a value of the application.
 */
export const isSettings = (value: unknown): value is PlainObject =>
  isPlainObject(value) && !Object.values(value).some((inner) => typeof inner === 'function');

const FORBIDDEN_KEYS: ReadonlySet<string> = new Set(['__proto__', 'constructor', 'prototype']);

/** Returns true for keys with which a configuration file could change every object of the process. */
export const isForbiddenKey = (key: string): boolean => FORBIDDEN_KEYS.has(key);

/**
 * Freezes sections and lists recursively. Objects with methods are left alone, because they belong
 * to the application.
 */
export function deepFreeze<T>(value: T): T {
  if (Array.isArray(value)) value.forEach(deepFreeze);
  else if (isSettings(value)) Object.values(value).forEach(deepFreeze);
  else return value;
  return Object.freeze(value);
}

/** Freezes like `deepFreeze`, but also a section that contains functions, because the library created it. */
export function freezeSettings<T extends object>(settings: T): T {
  Object.values(settings).forEach(deepFreeze);
  return Object.freeze(settings);
}
