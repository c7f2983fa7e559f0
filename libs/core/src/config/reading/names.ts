import { isForbiddenKey } from './plain-object.js';
import { formatValue } from './format-value.js';
import type { Violations } from '../validation/violations.js';

const LEGAL = /^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$/;

/**
 * Checks the name of a binding or a cluster. It becomes part of metrics, URLs and member ids, and
 * must not be a member of every object.
 */
export const isName = (name: unknown): name is string =>
  typeof name === 'string' &&
  LEGAL.test(name) &&
  !isForbiddenKey(name) &&
  !(name in Object.prototype);

export const nameComplaint = (what: 'binding' | 'cluster', name: unknown): string =>
  `${formatValue(name)} cannot be the name of a ${what}. Use 1 to 100 of the characters a-z, A-Z, 0-9, '.', '_' and '-', not beginning with '.' or '-', and no name that every object has.`;

export function checkName(
  what: 'binding' | 'cluster',
  name: string,
  path: string,
  violations: Violations,
): void {
  if (!isName(name)) violations.add('NAME', path, name, nameComplaint(what, name));
}
