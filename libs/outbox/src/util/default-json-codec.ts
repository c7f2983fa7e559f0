import { IllegalArgumentError } from '../errors/argument-errors.js';
import type { JsonCodec } from './json-codec.js';

/** Encodes a flat object of texts. Nested values are refused. */
export class DefaultJsonCodec implements JsonCodec {
  toJson(headers: ReadonlyMap<string, string> | null | undefined): string | null {
    if (!headers || headers.size === 0) return null;
    for (const [key, value] of headers)
      if (typeof key !== 'string' || typeof value !== 'string')
        throw new IllegalArgumentError('A header has a key or a value that is not text.');
    return JSON.stringify(Object.fromEntries(headers));
  }

  parseObject(json: string | null | undefined): ReadonlyMap<string, string> {
    if (json === null || json === undefined || json === '' || json === 'null') return new Map();
    const entries = Object.entries(parsed(json));
    if (!entries.every((entry): entry is [string, string] => typeof entry[1] === 'string'))
      throw new IllegalArgumentError('The headers have a value that is not text.');
    return new Map(entries);
  }
}

function parsed(json: string): object {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    // The message of JSON.parse() would contain a part of the text.
    throw new IllegalArgumentError('The headers are not JSON.');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new IllegalArgumentError('The headers are not a JSON object.');
  return value;
}
