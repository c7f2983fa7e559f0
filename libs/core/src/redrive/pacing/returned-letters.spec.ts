import type { BrokerRecord } from '@nest-event-bus/broker';
import { ReturnedLetters } from './returned-letters.js';

const OWNER = { name: 'orders', groupId: 'shop', topic: 'orders', dlt: { topic: 'orders.DLT' } };

/** A letter of a record that the operation `monday` has replayed. */
const returnedAt = (offset: number): BrokerRecord => ({
  topic: 'orders.DLT',
  ...{ partition: 0, offset, timestamp: 0, leaderEpoch: 0, key: null, sizeInBytes: 1 },
  value: Buffer.from('1'),
  headers: [{ key: 'x-eventbus-replay-id', value: Buffer.from('monday/0/0') }],
});

/** A partition whose records from `stable` on belong to an open transaction. */
function partitionOf(marks: { high: number; stable: number }) {
  let reads = 0;
  async function* readRange(_topic: string, _partition: number, from: number, to: number) {
    reads++;
    for (let offset = from; offset < Math.min(to, marks.stable); offset++)
      if (offset !== marks.high - 1) yield returnedAt(offset);
  }
  const watermarks = async () => [{ partition: 0, low: 0, high: marks.high }];
  const returned = new ReturnedLetters({
    admin: { readRange, watermarks },
    owner: OWNER,
    plan: { id: 'monday', deadLetterTopic: 'orders.DLT', groups: [] },
    runtime: { monotonic: () => 0 },
    signal: new AbortController().signal,
  });
  return { returned, reads: () => reads };
}

describe('ReturnedLetters', () => {
  it('counts letters that an open transaction has hidden, once it has ended', async () => {
    const marks = { high: 3, stable: 3 };
    const { returned } = partitionOf(marks);
    await returned.read();
    Object.assign(marks, { high: 6, stable: 4 });
    await returned.read();
    expect(returned.count).toBe(1);
    Object.assign(marks, { high: 7, stable: 7 });
    await returned.read();
    expect(returned.count).toBe(3);
  });

  it('does not read a partition again that has not changed', async () => {
    const marks = { high: 3, stable: 3 };
    const { returned, reads } = partitionOf(marks);
    await returned.read();
    Object.assign(marks, { high: 6, stable: 6 });
    for (let read = 0; read < 5; read++) await returned.read();
    expect([returned.count, reads()]).toEqual([2, 1]);
  });
});
