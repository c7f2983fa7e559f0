import fc from 'fast-check';
import { decodeMetadata, type CompletedRanges, encodeMetadata } from './commit-metadata-format.js';
import { MetadataBudget } from './metadata-budget.js';
import type { OffsetRange } from './offset-tracker.js';

const ranges = fc
  .array(
    fc.record({
      gap: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 2 ** 40 })),
      length: fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 2 ** 40 })),
    }),
    { minLength: 1, maxLength: 50 },
  )
  .map((parts) => (offset: number): readonly OffsetRange[] => {
    let end = offset;
    return parts.map(({ gap, length }) => {
      const from = end + gap;
      end = from + length;
      return { from, to: end };
    });
  });

const metadata = fc.record({
  offset: fc.integer({ min: 0, max: 2 ** 44 }),
  leaderEpoch: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
  lastEpoch: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
  topicId: fc.option(fc.base64String({ minLength: 4, maxLength: 24 })),
  ranges,
});

describe('encodeMetadata and decodeMetadata', () => {
  it('keep, for every record from the offset on, whether it is completed', () => {
    fc.assert(
      fc.property(metadata, ({ offset, ranges: of, ...rest }) => {
        const written: CompletedRanges = { ...rest, ranges: of(offset) };
        const encoded = encodeMetadata(offset, written, 100_000);
        expect(encoded?.isComplete).toBe(true);
        expect(decodeMetadata(offset, encoded?.text ?? null)).toEqual(written);
      }),
    );
  });

  it('never exceed the maximal length: later ranges are omitted', () => {
    fc.assert(
      fc.property(metadata, fc.nat(400), ({ offset, ranges: of, ...rest }, maxLength) => {
        const written: CompletedRanges = { ...rest, ranges: of(offset) };
        const encoded = encodeMetadata(offset, written, maxLength);
        if (!encoded) return;
        expect(encoded.text.length).toBeLessThanOrEqual(maxLength);
        const read = decodeMetadata(offset, encoded.text)?.ranges ?? [];
        expect(read.length > 0 && read.length <= written.ranges.length).toBe(true);
        expect(read).toEqual(written.ranges.slice(0, read.length));
        expect(encoded.isComplete).toBe(read.length === written.ranges.length);
      }),
    );
  });

  it('take about two characters per range if records complete in random order', () => {
    const every = Array.from({ length: 1_000 }, (_, index) => ({
      from: 2 * index + 1,
      to: 2 * index + 2,
    }));
    const encoded = encodeMetadata(
      0,
      { leaderEpoch: 7, lastEpoch: 7, topicId: null, ranges: every },
      4_096,
    );
    expect(encoded).toMatchObject({ isComplete: true });
    expect(encoded?.text.length).toBeLessThan(2_020);
  });

  it('write no metadata if no record is completed beyond the offset, or if no range fits', () => {
    const empty = { leaderEpoch: 1, lastEpoch: 1, topicId: 'id', ranges: [] };
    expect(encodeMetadata(5, empty, 4_096)).toBeUndefined();
    const one = { ...empty, ranges: [{ from: 6, to: 7 }] };
    expect(encodeMetadata(5, one, 12)).toBeUndefined();
    expect(encodeMetadata(5, one, 0)).toBeUndefined();
  });

  it.each([
    ['none', null],
    ['an empty one', ''],
    ["somebody else's", 'committed by my-tool'],
    ['a newer version', 'eb2 3/3 id BB'],
    ['an older version', 'eb0 3/3 id BB'],
    ['a text that ends within a number', 'eb1 3/3 id Bg'],
    ['a text that ends within a range', 'eb1 3/3 id BBB'],
    ['an empty range', 'eb1 3/3 id BA'],
    ['a text without the last epoch', 'eb1 3 id BB'],
    ['a digit that is not in the alphabet', 'eb1 3/3 id B+'],
    ['an offset beyond 2^53', `eb1 3/3 id B${'_'.repeat(12)}B`],
  ])(
    'decodeMetadata() returns undefined for text that this version did not write: %s',
    (_, text) => {
      expect(decodeMetadata(5, text)).toBeUndefined();
    },
  );

  it('decodeMetadata() reads the metadata that the first version wrote', () => {
    expect(decodeMetadata(5, 'eb1 3/4 bXktdG9waWM BBCgB')).toEqual({
      leaderEpoch: 3,
      lastEpoch: 4,
      topicId: 'bXktdG9waWM',
      ranges: [
        { from: 6, to: 7 },
        { from: 9, to: 41 },
      ],
    });
  });
});

describe('MetadataBudget', () => {
  it('is halved by each refusal of the broker, until it is zero', () => {
    const budget = new MetadataBudget();
    expect(budget.units).toBe(4_096);
    expect([budget.shrink(1_000), budget.units]).toEqual([true, 500]);
    for (let length = budget.units; length > 0; length = budget.units) budget.shrink(length);
    expect([budget.units, budget.shrink(0)]).toEqual([0, false]);
  });
});
