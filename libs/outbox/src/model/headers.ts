import { IllegalArgumentError } from '../errors/argument-errors.js';

export type HeadersInput = ReadonlyMap<string, string> | Readonly<Record<string, string>>;

/** Copies the headers into a map. Throws if a key or a value is not text. */
export function checkedHeaders(
  headers: HeadersInput | null | undefined,
): ReadonlyMap<string, string> {
  if (headers === undefined || headers === null) return new Map();
  const entries = headers instanceof Map ? [...headers] : Object.entries(headers);
  for (const [key, value] of entries) {
    if (typeof key !== 'string')
      throw new IllegalArgumentError('A header has no key. Use text as the keys of headers.');
    if (typeof value !== 'string')
      throw new IllegalArgumentError(`The header '${key}' is not text. Convert it to a string.`);
  }
  return new Map(entries);
}
