import { OwnedPartitions } from './owned-partitions.js';

const orders0 = { topic: 'orders', partition: 0 };

describe('ownership', () => {
  it('makes a new life of a partition that comes back: the old one holds nothing', () => {
    const ownership = new OwnedPartitions();
    const first = ownership.add(orders0, null);
    ownership.remove(first);
    const second = ownership.add(orders0, null);
    expect(ownership.isCurrent(first)).toBe(false);
    expect(ownership.isCurrent(second)).toBe(true);
    ownership.remove(first);
    expect(ownership.isCurrent(second)).toBe(true);
  });

  it('keeps pauses over rejoining, and for partitions that are not ours yet', () => {
    const ownership = new OwnedPartitions();
    ownership.pause([orders0]);
    const first = ownership.add(orders0, null);
    expect(first.paused).toBe(true);
    expect(ownership.paused()).toEqual([orders0]);
    ownership.remove(first);
    expect(ownership.add(orders0, null).paused).toBe(true);
    ownership.resume([orders0]);
    expect(ownership.get(orders0)?.paused).toBe(false);
    expect(ownership.paused()).toEqual([]);
  });

  it('does not mix up topics whose names run together', () => {
    const ownership = new OwnedPartitions();
    ownership.pause([{ topic: 'orders-1', partition: 1 }]);
    expect(ownership.add({ topic: 'orders', partition: 11 }, null).paused).toBe(false);
  });
});
