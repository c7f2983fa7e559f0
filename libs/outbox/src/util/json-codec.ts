import { DefaultJsonCodec } from './default-json-codec.js';

/** Encodes the headers of an event as text. */
export interface JsonCodec {
  /** Returns null for no headers. */
  toJson(headers: ReadonlyMap<string, string> | null | undefined): string | null;
  /** Returns an empty map for null, empty text and `null`. Throws if the text cannot be decoded. */
  parseObject(json: string | null | undefined): ReadonlyMap<string, string>;
}

const defaultCodec = new DefaultJsonCodec();

export const JsonCodec = Object.freeze({
  getDefault: (): JsonCodec => defaultCodec,
});
