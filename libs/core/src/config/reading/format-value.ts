import { isPlainObject } from './plain-object.js';

const LONGEST_TEXT = 60;

/** Formats a value for a message. The content of an object is never shown, because it may be a secret. */
export function formatValue(value: unknown): string {
  switch (typeof value) {
    case 'string':
      return value.length > LONGEST_TEXT ? `'${value.slice(0, LONGEST_TEXT)}…'` : `'${value}'`;
    case 'bigint':
      return `${value}n`;
    case 'symbol':
      return 'a symbol';
    case 'function':
      return /^class\b/.test(Function.prototype.toString.call(value))
        ? `the class ${value.name || '(anonymous)'}`
        : 'a function';
    case 'object':
      return formatObject(value);
    case 'number':
    case 'boolean':
    case 'undefined':
      return String(value);
  }
}

function formatObject(value: object | null): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return value.length === 0 ? 'an empty list' : 'a list';
  if (isPlainObject(value)) return 'an object';
  const { constructor } = value;
  return typeof constructor === 'function' && constructor.name
    ? `an instance of ${constructor.name}`
    : 'an object of an unknown class';
}
