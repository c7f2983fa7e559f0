/** Names of fields and indexes. Any other key may be a part of the payload, such as that of a map. */
const FIELD = /^[\w$-]{1,64}$/;

/** Returns the path of a field for a message. Keys that may be a part of the payload become `*`. */
export function fieldPath(keys: readonly PropertyKey[]): string {
  return keys.map((key) => (FIELD.test(String(key)) ? String(key) : '*')).join('.');
}
