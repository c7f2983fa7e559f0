import fc from 'fast-check';
import { partitionOfKey } from '../../../records/index.js';
import { VirtualRuntime } from '../../../runtime/index.js';
import { StickyPartitioner } from './sticky-partitioner.js';

describe('partitionOfKey()', () => {
  it('returns the same partition for a text and for its UTF-8 bytes', () => {
    fc.assert(
      fc.property(
        fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ minLength: 200, maxLength: 400 })),
        fc.integer({ min: 1, max: 500 }),
        (key, count) => {
          expect(partitionOfKey(key, count)).toBe(partitionOfKey(Buffer.from(key), count));
        },
      ),
    );
  });
});

describe('StickyPartitioner', () => {
  const all = () => true;

  it('keeps its partition until a batch is full, then chooses another one', () => {
    const choice = new StickyPartitioner(new VirtualRuntime(), 100);
    const chosen = Array.from({ length: 40 }, () => {
      const partition = choice.partition(3, all);
      choice.bytes += 30;
      return partition;
    });
    for (let at = 0; at < 40; at++) {
      if (at % 4 !== 0) expect(chosen[at]).toBe(chosen[at - 1]);
      else if (at > 0) expect(chosen[at]).not.toBe(chosen[at - 1]);
    }
    expect(new Set(chosen)).toEqual(new Set([0, 1, 2]));
  });

  it('chooses another partition if its current one cannot be sent to', () => {
    const choice = new StickyPartitioner(new VirtualRuntime(), 100);
    const first = choice.partition(2, all);
    expect(choice.partition(2, (partition) => partition !== first)).toBe(1 - first);
  });

  it('chooses any partition if none can be sent to', () => {
    const choice = new StickyPartitioner(new VirtualRuntime(), 100);
    expect([0, 1, 2]).toContain(choice.partition(3, () => false));
    expect(new StickyPartitioner(new VirtualRuntime(), 1).partition(1, all)).toBe(0);
  });
});
