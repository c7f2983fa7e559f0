import { FIRST_DELIVERY } from '../../model/outcomes/delivery-history.js';
import { LaneDelivery } from './lane-delivery.js';
import { PendingQueue } from './pending-queue.js';
import { recordsOf } from '../session/lane-test-bed.spec-support.js';

const delivery = (offset: number): LaneDelivery =>
  new LaneDelivery(recordsOf(offset)[0]!, FIRST_DELIVERY, 0, 0, undefined);

describe('PendingQueue', () => {
  it('keeps the order of the log, even if it is never empty', () => {
    const queue = new PendingQueue();
    for (let offset = 0; offset < 3; offset++) queue.add(delivery(offset));
    const taken: number[] = [];
    for (let offset = 3; offset < 5_000; offset++) {
      queue.add(delivery(offset));
      taken.push(queue.take().record.offset);
      expect(queue.size).toBe(3);
    }
    expect(taken).toEqual(Array.from(taken, (_, index) => index));
    expect(queue.first?.record.offset).toBe(4_997);
    queue.takeAll();
    expect([queue.size, queue.first]).toEqual([0, undefined]);
  });
});
