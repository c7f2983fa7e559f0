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
  partition: fc.nat(),
  offset: fc.integer({ min: 0, max: 2 ** 44 }),
  leaderEpoch: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
  lastEpoch: fc.integer({ min: -1, max: 2 ** 31 - 1 }),
  topicId: fc.option(fc.base64String({ minLength: 4, maxLength: 24 })),
  ranges,
  calls: fc.option(fc.integer({ min: 1, max: 1_000_000_000 }), { nil: undefined }),
});

const AT = { partition: 2, offset: 5 };

describe('encodeMetadata and decodeMetadata', () => {
  it('keep, for every record from the offset on, whether it is completed', () => {
    fc.assert(
      fc.property(metadata, ({ partition, offset, ranges: of, ...rest }) => {
        const written: CompletedRanges = { ...rest, ranges: of(offset) };
        const encoded = encodeMetadata({ partition, offset }, written, 100_000);
        expect(encoded?.isComplete).toBe(true);
        expect(decodeMetadata({ partition, offset }, encoded?.text ?? null)).toEqual(written);
      }),
    );
  });

  it('give nothing for another commit, whatever its partition and offset', () => {
    const other = fc.oneof(
      fc.constant(['offset', 1] as const),
      fc.constant(['offset', -1] as const),
      fc.constant(['partition', 1] as const),
      fc.tuple(fc.constantFrom('offset', 'partition'), fc.integer({ min: 1, max: 2 ** 20 })),
    );
    fc.assert(
      fc.property(metadata, other, ({ partition, offset, ranges: of, ...rest }, [field, by]) => {
        const at = { partition, offset };
        const encoded = encodeMetadata(at, { ...rest, ranges: of(offset) }, 100_000);
        const elsewhere = { ...at, [field]: at[field] + by };
        expect(decodeMetadata(elsewhere, encoded!.text)).toBeUndefined();
      }),
    );
  });

  it('may have calls and no ranges', () => {
    const written = { leaderEpoch: 3, lastEpoch: -1, topicId: null, ranges: [], calls: 2 };
    const encoded = encodeMetadata(AT, written, 100);
    expect(encoded).toEqual({ text: 'eb2 2@5 3/-1   2', isComplete: true });
    expect(decodeMetadata(AT, encoded!.text)).toEqual(written);
    expect(encodeMetadata(AT, written, 10)).toBeUndefined();
    expect(decodeMetadata(AT, 'eb2 2@5 3/3 id BB 9999999999')?.calls).toBe(1_000_000_000);
    expect(decodeMetadata(AT, 'eb2 2@5 3/3 id BB 0')).toBeUndefined();
  });

  it('never exceed the maximal length: later ranges are omitted', () => {
    fc.assert(
      fc.property(
        metadata,
        fc.nat(400),
        ({ partition, offset, ranges: of, ...rest }, maxLength) => {
          const written: CompletedRanges = { ...rest, ranges: of(offset) };
          const encoded = encodeMetadata({ partition, offset }, written, maxLength);
          if (!encoded) return;
          expect(encoded.text.length).toBeLessThanOrEqual(maxLength);
          const read = decodeMetadata({ partition, offset }, encoded.text)?.ranges ?? [];
          expect(read.length > 0 && read.length <= written.ranges.length).toBe(true);
          expect(read).toEqual(written.ranges.slice(0, read.length));
          expect(encoded.isComplete).toBe(read.length === written.ranges.length);
        },
      ),
    );
  });

  it('take about two characters per range if records complete in random order', () => {
    const every = Array.from({ length: 1_000 }, (_, index) => ({
      from: 2 * index + 1,
      to: 2 * index + 2,
    }));
    const encoded = encodeMetadata(
      { partition: 0, offset: 0 },
      { leaderEpoch: 7, lastEpoch: 7, topicId: null, ranges: every },
      4_096,
    );
    expect(encoded).toMatchObject({ isComplete: true });
    expect(encoded?.text.length).toBeLessThan(2_020);
  });

  it('write no metadata if no record is completed beyond the offset, or if no range fits', () => {
    const empty = { leaderEpoch: 1, lastEpoch: 1, topicId: 'id', ranges: [] };
    expect(encodeMetadata(AT, empty, 4_096)).toBeUndefined();
    const one = { ...empty, ranges: [{ from: 6, to: 7 }] };
    expect(encodeMetadata(AT, one, 12)).toBeUndefined();
    expect(encodeMetadata(AT, one, 0)).toBeUndefined();
  });

  it.each([
    ['none', null],
    ['an empty one', ''],
    ["somebody else's", 'committed by my-tool'],
    ['a newer version', 'eb3 2@5 3/3 id BB'],
    ['the first version', 'eb1 3/3 id BB'],
    ['the metadata of another offset', 'eb2 2@4 3/3 id BB'],
    ['the metadata of another partition', 'eb2 1@5 3/3 id BB'],
    ['a text that ends within a number', 'eb2 2@5 3/3 id Bg'],
    ['a text that ends within a range', 'eb2 2@5 3/3 id BBB'],
    ['an empty range', 'eb2 2@5 3/3 id BA'],
    ['a text without the last epoch', 'eb2 2@5 3 id BB'],
    ['a digit that is not in the alphabet', 'eb2 2@5 3/3 id B+'],
    ['an offset beyond 2^53', `eb2 2@5 3/3 id B${'_'.repeat(12)}B`],
  ])(
    'decodeMetadata() returns undefined for text that this version did not write: %s',
    (_, text) => {
      expect(decodeMetadata(AT, text)).toBeUndefined();
    },
  );

  it('decodeMetadata() reads the metadata that an earlier release wrote in this version', () => {
    expect(decodeMetadata(AT, 'eb2 2@5 3/4 bXktdG9waWM BBCgB')).toEqual({
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
