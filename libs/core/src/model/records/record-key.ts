/** The key of a record with `keyDeserializer: 'auto'`: text, or the bytes of a key that is no text. */
export type RecordKey = string | Buffer | null;

/**
 * Control characters except tab and line breaks. Encoded numbers and Avro contain them, and are often
 * UTF-8 by chance.
 */
// oxlint-disable-next-line no-control-regex -- they are what is looked for
const CONTROL_CHARACTERS = /[\0-\x08\x0b\x0c\x0e-\x1f]/;

/** Returns the text of a key; undefined if its bytes are not UTF-8 or hold control characters. */
export function keyText(key: Buffer): string | undefined {
  const text = key.toString('utf8');
  // The decoder replaces bytes that are not UTF-8 by this character, which a text may also contain.
  const isExact = !text.includes('\ufffd') || Buffer.from(text).equals(key);
  return isExact && !CONTROL_CHARACTERS.test(text) ? text : undefined;
}

/** Returns a key for logs and JSON. Bytes that are no text are written as base64. */
export function printedKey(key: Buffer | null): string | null {
  return key && (keyText(key) ?? `base64:${key.toString('base64')}`);
}
