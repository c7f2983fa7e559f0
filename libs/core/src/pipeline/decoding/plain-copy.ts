/**
 * Plain objects of the records that avsc makes, which have classes of their own: schemas, payload
 * classes and `toEqual` look at plain ones alike. What a map key may have made a prototype stays behind.
 */
export function plainCopy(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plainCopy);
  if (typeof value !== 'object' || value === null || Buffer.isBuffer(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, plainCopy(inner)]));
}
