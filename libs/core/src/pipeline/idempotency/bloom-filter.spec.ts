import fc from 'fast-check';
import { BloomFilter } from './bloom-filter.js';

describe('A Bloom filter', () => {
  it('never denies a key that was added, however small it is', () => {
    fc.assert(
      fc.property(
        fc.array(fc.string(), { maxLength: 200 }),
        fc.integer({ min: 1, max: 50 }),
        fc.double({ min: 0.0001, max: 0.99, noNaN: true }),
        (keys, expected, falsePositiveRate) => {
          const filter = new BloomFilter({ expected, falsePositiveRate });
          for (const key of keys) filter.add(key);
          return keys.every((key) => filter.mayHave(key));
        },
      ),
    );
  });

  it.each([0.1, 0.01, 0.001])('keeps its false positive rate: %d', (falsePositiveRate) => {
    const expected = 10_000;
    const filter = new BloomFilter({ expected, falsePositiveRate });
    for (let index = 0; index < expected; index++) filter.add(`known-${index}`);
    const asked = 20_000;
    const wrong = Array.from({ length: asked }, (_, index) => filter.mayHave(`new-${index}`));
    const rate = wrong.filter(Boolean).length / asked;
    expect(rate).toBeLessThan(falsePositiveRate * 1.6);
    expect(rate).toBeGreaterThan(falsePositiveRate / 3);
  });

  it('knows no key while it is empty', () => {
    expect(new BloomFilter({ expected: 1, falsePositiveRate: 0.5 }).mayHave('')).toBe(false);
  });
});
