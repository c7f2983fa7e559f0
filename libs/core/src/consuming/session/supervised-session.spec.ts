import { memory } from '@nest-event-bus/broker/memory';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { ConsumingTestBed, reconciles, upTo } from './consuming-test-bed.spec-support.js';

const failed = (message = 'no'): Outcome => ({
  kind: 'failed',
  reason: 'redeliver',
  attempts: 1,
  error: new Error(message),
});

describe('a consuming session', () => {
  let testBed: ConsumingTestBed;

  afterEach(async () => {
    await testBed.end();
    // The broker has its own timer for a member that could not leave.
    await testBed.runtime.advance(10_000);
    expect(testBed.runtime.pendingTimers).toBe(0);
  });

  describe('the records of a partition', () => {
    it.each(['MANUAL', 'MANUAL_IMMEDIATE'] as const)(
      'are handed to the handler in order, and committed afterwards (%s)',
      async (ackMode) => {
        testBed = await ConsumingTestBed.of(2);
        await testBed.write(12, 0);
        await testBed.write(7, 1);
        const member = await testBed.started(() => succeeded, { settings: { ackMode } });
        await testBed.untilCommitted(12, 0);
        await testBed.untilCommitted(7, 1);
        expect(member.offsets(0)).toEqual(upTo(12));
        expect(member.offsets(1)).toEqual(upTo(7));
        expect(member.session.counts).toEqual({
          received: 19,
          succeeded: 19,
          discarded: 0,
          duplicates: 0,
          retried: 0,
          deadLettered: 0,
          failed: 0,
          handedBack: 0,
          inFlight: 0,
          slicesCut: 0,
          membershipsGivenUp: 0,
        });
      },
    );

    it('are committed past transaction markers, so that the group has no lag', async () => {
      testBed = await ConsumingTestBed.of(1);
      const driver = memory({ broker: testBed.broker });
      const producer = driver.producer({ transactionalId: 't' });
      const transaction = await testBed.done(producer.transaction());
      await testBed.done(transaction.send([{ topic: 't', partition: 0, value: 'one' }]));
      await testBed.done(transaction.commit());
      await testBed.done(driver.close());
      const member = await testBed.started();
      await testBed.untilCommitted(2);
      expect(member.offsets()).toEqual([0]);
    });

    it('are handed out one at a time, even if the handler is asynchronous', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(8);
      let [running, most] = [0, 0];
      const member = await testBed.started(async () => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => testBed.runtime.setTimer(resolve, 20));
        running--;
        return succeeded;
      });
      await testBed.untilCommitted(8);
      expect([most, member.offsets()]).toEqual([1, upTo(8)]);
    });

    it('are handed out while the handler of another partition hangs', async () => {
      testBed = await ConsumingTestBed.of(2);
      await testBed.write(50, 0);
      await testBed.write(50, 1);
      const member = await testBed.started(({ record }) =>
        record.partition === 0 ? new Promise<Outcome>(() => undefined) : succeeded,
      );
      await testBed.untilCommitted(50, 1);
      expect(member.offsets(0)).toEqual([0]);
      expect(await testBed.committed(0)).toBeUndefined();
    });

    it('are buffered in at most two slices while the handler of the partition hangs', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(100);
      const member = await testBed.started(() => new Promise<Outcome>(() => undefined));
      await testBed.runtime.advance(5_000);
      expect(member.session.counts.received).toBeLessThanOrEqual(11);
      expect(member.session.status.partitionPauses).toMatchObject([{ reasons: ['backpressure'] }]);
    });

    it('are handed out in whole slices if the processor has processSlice()', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(12);
      const slices: number[][] = [];
      await testBed.started(undefined, {
        processor: {
          process: () => failed('not for me'),
          processSlice: (slice) => {
            slices.push(slice.map(({ record }) => record.offset));
            return slice.map(() => succeeded);
          },
        },
      });
      await testBed.untilCommitted(12);
      expect(slices).toEqual([upTo(5), upTo(5, 5), upTo(2, 10)]);
    });
  });

  describe('a record whose handler fails', () => {
    it('is not committed, and is redelivered after a wait and before the next records', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(6);
      const redeliveries: number[] = [];
      const member = await testBed.started(({ record, history: { redeliveries: again } }) => {
        if (record.offset !== 3) return succeeded;
        redeliveries.push(again);
        return again < 2 ? failed('not yet') : succeeded;
      });
      await testBed.untilCommitted(3);
      expect(member.session.status.partitionPauses).toMatchObject([
        { partition: 0, reasons: ['backoff'], error: { message: 'not yet' } },
      ]);
      await testBed.untilCommitted(6);
      expect(redeliveries).toEqual([0, 1, 2]);
      expect(member.offsets()).toEqual([0, 1, 2, 3, 3, 3, 4, 5]);
      expect(member.session.counts).toMatchObject({ succeeded: 6, failed: 2, inFlight: 0 });
      expect(reconciles(member.session.counts)).toBe(true);
      expect(member.session.status.partitionPauses).toEqual([]);
    });

    it.each<[string, () => never]>([
      [
        'throws',
        () => {
          throw new TypeError('escaped');
        },
      ],
      ['rejects', () => Promise.reject(new TypeError('escaped')) as never],
      ['returns undefined', () => undefined as never],
      ['returns an unknown kind of outcome', () => ({ kind: 'fine' }) as never],
    ])('is redelivered as failed when the processor %s', async (_, misbehave) => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(3);
      const member = await testBed.started(({ record, history: { redeliveries } }) =>
        record.offset === 1 && redeliveries === 0 ? misbehave() : succeeded,
      );
      await testBed.untilCommitted(3);
      expect(member.offsets()).toEqual([0, 1, 1, 2]);
      expect(member.session.counts.failed).toBe(1);
    });

    it('waits longer after each failure, up to the limit, and briefly again after a success', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(2);
      const tries: [number, number][] = [];
      await testBed.started(({ record, history: { redeliveries } }) => {
        tries.push([record.offset, testBed.runtime.monotonic()]);
        return redeliveries < 6 ? failed() : succeeded;
      });
      await testBed.until(() => tries.length === 14);
      await testBed.untilCommitted(2);
      const waits = tries.map(([, at], index) => (tries[index + 1]?.[1] ?? 0) - at);
      const limits = [1_000, 2_000, 4_000, 8_000, 10_000, 10_000];
      for (const [index, limit] of [...limits, 0, ...limits].entries()) {
        expect(waits[index]).toBeGreaterThanOrEqual(limit / 2);
        expect(waits[index]).toBeLessThanOrEqual(limit + 30);
      }
    });

    it('is redelivered without the records of its slice that completed after it', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(5);
      const slices: number[][] = [];
      const member = await testBed.started(undefined, {
        processor: {
          process: () => failed(),
          processSlice: (slice) => {
            slices.push(slice.map(({ record }) => record.offset));
            return slice.map(({ record: { offset }, history: { redeliveries } }) =>
              offset % 2 === 1 && redeliveries === 0 ? failed() : succeeded,
            );
          },
        },
      });
      await testBed.untilCommitted(5);
      expect(slices).toEqual([upTo(5), [1, 3]]);
      expect(member.session.counts).toMatchObject({ received: 7, succeeded: 5, failed: 2 });
    });
  });

  describe('a record that is handed back', () => {
    it('is redelivered after the requested delay, and does not count as a failure', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(2);
      const at: number[] = [];
      const member = await testBed.started(({ record, history: { redeliveries } }) => {
        if (record.offset === 1) return succeeded;
        at.push(testBed.runtime.monotonic());
        return redeliveries === 0 ? { kind: 'handed-back', delayMs: 7_000 } : succeeded;
      });
      await testBed.until(() => at.length === 1);
      expect(member.session.status.partitionPauses).toMatchObject([{ reasons: ['delay'] }]);
      await testBed.untilCommitted(2);
      expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(7_000);
      expect((at[1] ?? 0) - (at[0] ?? 0)).toBeLessThanOrEqual(7_050);
      expect(member.session.counts).toMatchObject({ succeeded: 2, failed: 0, handedBack: 2 });
    });

    it('is redelivered without a tight loop if no delay was requested', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(1);
      const member = await testBed.started(() => ({ kind: 'handed-back' }));
      await testBed.runtime.advance(60_000);
      expect(member.handled.length).toBeLessThan(20);
    });

    it('is redelivered at once when a pause of the session ends', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(1);
      let isOpen = true;
      const member = await testBed.started(() => (isOpen ? { kind: 'handed-back' } : succeeded));
      await testBed.until(() => member.handled.length === 4);
      await testBed.done(member.session.pause('circuit'));
      isOpen = false;
      expect(member.session.resume('circuit')).toEqual([]);
      await testBed.runtime.advance(20);
      expect(member.session.counts.succeeded).toBe(1);
    });
  });
});
