import { OwnedPartitions } from './owned-partitions.js';

const orders0 = { topic: 'orders', partition: 0 };

describe('OwnedPartitions', () => {
  it('creates a new object for a partition that is assigned again, and ignores the removed one', () => {
    const ownedPartitions = new OwnedPartitions();
    const first = ownedPartitions.add(orders0, null);
    ownedPartitions.remove(first);
    const second = ownedPartitions.add(orders0, null);
    expect(ownedPartitions.isCurrent(first)).toBe(false);
    expect(ownedPartitions.isCurrent(second)).toBe(true);
    ownedPartitions.remove(first);
    expect(ownedPartitions.isCurrent(second)).toBe(true);
  });

  it('keeps a pause through a rejoin, also if the partition is not assigned yet', () => {
    const ownedPartitions = new OwnedPartitions();
    ownedPartitions.pause([orders0]);
    const first = ownedPartitions.add(orders0, null);
    expect(first.paused).toBe(true);
    expect(ownedPartitions.paused()).toEqual([orders0]);
    ownedPartitions.remove(first);
    expect(ownedPartitions.add(orders0, null).paused).toBe(true);
    ownedPartitions.resume([orders0]);
    expect(ownedPartitions.get(orders0)?.paused).toBe(false);
    expect(ownedPartitions.paused()).toEqual([]);
  });

  it('distinguishes partitions whose topic and number form the same text when joined', () => {
    const ownedPartitions = new OwnedPartitions();
    ownedPartitions.pause([{ topic: 'orders-1', partition: 1 }]);
    expect(ownedPartitions.add({ topic: 'orders', partition: 11 }, null).paused).toBe(false);
  });
});
