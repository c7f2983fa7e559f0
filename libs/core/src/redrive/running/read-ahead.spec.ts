import { readAhead } from './read-ahead.js';

describe('Reading ahead', () => {
  it('gets the next item while the present one is worked on', async () => {
    const got: number[] = [];
    async function* items(): AsyncGenerator<number, void> {
      for (const item of [1, 2, 3]) {
        got.push(item);
        yield item;
      }
    }
    const seen: (readonly [number, number])[] = [];
    for await (const item of readAhead(items())) seen.push([item, got.length]);
    expect(seen).toEqual([
      [1, 2],
      [2, 3],
      [3, 3],
    ]);
  });

  it('ends its source when it is left early, and throws the error of the source in its turn', async () => {
    let isEnded = false;
    async function* items(): AsyncGenerator<number, void> {
      try {
        yield 1;
        throw new Error('the log was truncated');
      } finally {
        isEnded = true;
      }
    }
    for await (const item of readAhead(items())) {
      expect(item).toBe(1);
      break;
    }
    expect(isEnded).toBe(true);
    const seen: number[] = [];
    await expect(
      (async () => {
        for await (const item of readAhead(items())) seen.push(item);
      })(),
    ).rejects.toThrow('the log was truncated');
    expect(seen).toEqual([1]);
  });
});
