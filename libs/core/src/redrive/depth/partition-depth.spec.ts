import type { BrokerRecord } from '@nest-event-bus/broker';
import fc from 'fast-check';
import { PartitionDepth } from './partition-depth.js';

const OWNER = { name: 'orders', groupId: 'shop', topic: 'orders', dlt: { topic: 'orders.DLT' } };
const LETTERS = 12;

/** A dead letter of the group, or of another one. */
const letterAt = (offset: number, isOurs: boolean): BrokerRecord => ({
  topic: 'orders.DLT',
  partition: 0,
  offset,
  timestamp: 0,
  leaderEpoch: 0,
  key: null,
  value: Buffer.from('1'),
  headers: [{ key: 'x-eventbus-group-id', value: Buffer.from(isOurs ? 'shop' : 'billing') }],
  sizeInBytes: 100,
});

const LIMITS = { letters: 100, bytes: 100_000 };

describe('The depth of a partition', () => {
  it('is the same whether letters were replayed one by one or as ranges, of any group', async () => {
    const place = fc.nat({ max: LETTERS });
    const facts = fc.record({
      ours: fc.array(fc.boolean(), { minLength: LETTERS, maxLength: LETTERS }),
      ranges: fc.array(fc.tuple(place, place), { maxLength: 5 }),
      low: place,
      isScannedFirst: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(facts, async ({ ours, ranges, low, isScannedFirst }) => {
        async function* readRange(_topic: string, _partition: number, from: number) {
          for (let offset = from; offset < LETTERS; offset++) yield letterAt(offset, ours[offset]!);
        }
        const depth = new PartitionDepth(OWNER, 0);
        depth.moveTo({ partition: 0, low, high: LETTERS });
        if (isScannedFirst) await depth.scan({ readRange }, LIMITS);
        for (const [from, to] of ranges) depth.decideRange(from, to);
        if (!isScannedFirst) await depth.scan({ readRange }, LIMITS);
        const isDecided = (offset: number) =>
          ranges.some(([from, to]) => from <= offset && offset < to);
        const open = ours.filter((own, offset) => own && offset >= low && !isDecided(offset));
        expect(depth.open).toBe(open.length);
      }),
    );
  });
});
