/** Types and versions, as programs write them. */
const PLAIN = /^[\w.$:/+-]{1,100}$/;

/**
 * Returns a type or version of a record for a message. Returns undefined if it must not be shown: a
 * field of the payload is never shown, and a header only if it is no free text. `from` is the name
 * of the header, or `$.` and the path of the field.
 */
export function shownValue(text: string, from: string): string | undefined {
  return from.startsWith('$.') || !PLAIN.test(text) ? undefined : text;
}
