import type { JsonSchema } from './schema.js';

const INTEGER = /^-?\d{1,16}$/;
const NUMBER = /^-?\d{1,16}(\.\d{1,16})?$/;

/**
 * Reads a text of a URL as its schema says: numbers and flags are written as text there. A text that
 * cannot be read is returned as it is, so that the check of the schema complains about it.
 */
export function readText({ type, const: only, anyOf }: JsonSchema, given: unknown): unknown {
  if (typeof given !== 'string') return given;
  if (type === 'integer' && INTEGER.test(given)) return Number(given);
  if (type === 'number' && NUMBER.test(given)) return Number(given);
  const isFlag = type === 'boolean' || typeof only === 'boolean';
  if (isFlag && (given === 'true' || given === 'false')) return given === 'true';
  const read = anyOf?.map((each) => readText(each, given)).find((value) => value !== given);
  return read ?? given;
}
