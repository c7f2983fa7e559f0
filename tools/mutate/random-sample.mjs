/**
 * Chooses items at random, in their order. The same seed chooses the same items.
 * @template T
 * @param {readonly T[]} items
 * @param {number} count
 * @param {number} seed
 * @returns {readonly T[]}
 */
export function randomSample(items, count, seed) {
  const random = mulberry32(seed);
  const drawn = items.map((item, index) => ({ item, index, rank: random() }));
  return drawn
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, count)
    .toSorted((a, b) => a.index - b.index)
    .map(({ item }) => item);
}

/** @param {number} seed */
function mulberry32(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
