import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { type KeyQueue, KeyQueues } from './key-queues.js';
import { FIRST_DELIVERY } from '../../model/outcomes/delivery-history.js';
import { LaneDelivery } from './lane-delivery.js';
import { recordsOf } from '../session/lane-test-bed.spec-support.js';

function queues() {
  const runtime = new VirtualRuntime();
  const waits: number[] = [];
  const delivery = (offset: number, waitMs?: number): LaneDelivery => {
    const until = runtime.monotonic() + (waitMs ?? 0);
    const wait = { reason: 'backoff', until } as const;
    const past = waitMs === undefined ? FIRST_DELIVERY : { ...FIRST_DELIVERY, wait };
    return new LaneDelivery(recordsOf(offset)[0]!, past, 0, 0, undefined);
  };
  const onWait = ({ record }: LaneDelivery): void => void waits.push(record.offset);
  const all = new KeyQueues({ runtime, onReady: () => undefined, onWait });
  return { runtime, waits, delivery, all };
}

/** Marks the first record of a key as running, and adds these records behind it. */
function withRunningFirst(
  { all, delivery }: ReturnType<typeof queues>,
  key: string,
  ...behind: number[]
) {
  const queue = all.add(key, delivery(0)) as KeyQueue;
  all.take(queue);
  for (const offset of behind) all.add(key, delivery(offset));
  return queue;
}

describe('records of a key behind one that waits for a delay', () => {
  it('do not count as in line until the delay is over', async () => {
    const testBed = queues();
    const { all, delivery, runtime, waits } = testBed;
    const queue = withRunningFirst(testBed, 'a', 1, 2);
    expect([all.size, all.inLine, all.isReady]).toEqual([2, 2, false]);
    all.putBack(queue, delivery(0, 1_000));
    all.add('a', delivery(3));
    expect([all.size, all.inLine, all.isReady]).toEqual([4, 0, false]);
    await runtime.advance(1_000);
    expect([all.size, all.inLine, all.isReady]).toEqual([4, 4, true]);
    expect(waits).toEqual([0]);
  });

  it('count as in line at once if the delay is over already', () => {
    const testBed = queues();
    const { all, delivery, waits } = testBed;
    all.putBack(withRunningFirst(testBed, 'a', 1), delivery(0, 0));
    expect([all.inLine, all.isReady, waits]).toEqual([2, true, []]);
  });

  it('are removed together with it, and later records of the key count as in line', async () => {
    const testBed = queues();
    const { all, delivery, runtime } = testBed;
    all.putBack(withRunningFirst(testBed, 'a', 1), delivery(0, 1_000));
    expect(all.takeAll().map(({ record }) => record.offset)).toEqual([0, 1]);
    expect([all.size, runtime.pendingTimers]).toEqual([0, 0]);
    withRunningFirst(testBed, 'a', 1);
    expect(all.inLine).toBe(1);
  });
});
