import { memory } from '@nest-event-bus/broker/memory';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { IntakeWorld, reconciles, upTo, watched } from './intake-world.spec-support.js';

const failed = (message = 'no'): Outcome => ({ kind: 'failed', error: new Error(message) });

describe('an intake session', () => {
  let world: IntakeWorld;

  afterEach(async () => {
    await world.end();
    // The broker keeps a timer of its own for a member that could not say good-bye.
    await world.runtime.advance(10_000);
    expect(world.runtime.pendingTimers).toBe(0);
  });

  describe('hands every record of a partition to the handler, one after the other,', () => {
    it.each(['MANUAL', 'MANUAL_IMMEDIATE'] as const)(
      'and commits behind it (%s)',
      async (ackMode) => {
        world = await IntakeWorld.of(2);
        await world.write(12, 0);
        await world.write(7, 1);
        const member = await world.started(() => succeeded, { settings: { ackMode } });
        await world.untilCommitted(12, 0);
        await world.untilCommitted(7, 1);
        expect(member.offsets(0)).toEqual(upTo(12));
        expect(member.offsets(1)).toEqual(upTo(7));
        expect(member.intake.counts).toEqual({
          received: 19,
          succeeded: 19,
          discarded: 0,
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

    it('and behind what is in the log but is no record: no lag is left by a transaction', async () => {
      world = await IntakeWorld.of(1);
      const driver = memory({ broker: world.broker });
      const producer = driver.producer({ transactionalId: 't' });
      const transaction = await world.done(producer.transaction());
      await world.done(transaction.send([{ topic: 't', partition: 0, value: 'one' }]));
      await world.done(transaction.commit());
      await world.done(driver.close());
      const member = await world.started();
      await world.untilCommitted(2);
      expect(member.offsets()).toEqual([0]);
    });

    it('never two at once, also where handlers take their time', async () => {
      world = await IntakeWorld.of(1);
      await world.write(8);
      let [running, most] = [0, 0];
      const member = await world.started(async () => {
        most = Math.max(most, ++running);
        await new Promise<void>((resolve) => world.runtime.setTimer(resolve, 20));
        running--;
        return succeeded;
      });
      await world.untilCommitted(8);
      expect([most, member.offsets()]).toEqual([1, upTo(8)]);
    });

    it('while other partitions flow beside one that hangs', async () => {
      world = await IntakeWorld.of(2);
      await world.write(50, 0);
      await world.write(50, 1);
      const member = await world.started(({ record }) =>
        record.partition === 0 ? new Promise<Outcome>(() => undefined) : succeeded,
      );
      await world.untilCommitted(50, 1);
      expect(member.offsets(0)).toEqual([0]);
      expect(await world.committed(0)).toBeUndefined();
    });

    it('holding no more than two slices of one that hangs', async () => {
      world = await IntakeWorld.of(1);
      await world.write(100);
      const member = await world.started(() => new Promise<Outcome>(() => undefined));
      await world.runtime.advance(5_000);
      expect(member.intake.counts.received).toBeLessThanOrEqual(11);
      expect(member.intake.status.partitionPauses).toMatchObject([{ reasons: ['backpressure'] }]);
    });

    it('a slice at a time where the processor takes slices', async () => {
      world = await IntakeWorld.of(1);
      await world.write(12);
      const slices: number[][] = [];
      await world.started(undefined, {
        processor: {
          process: () => failed('not for me'),
          processSlice: (slice) => {
            slices.push(slice.map(({ record }) => record.offset));
            return slice.map(() => succeeded);
          },
        },
      });
      await world.untilCommitted(12);
      expect(slices).toEqual([upTo(5), upTo(5, 5), upTo(2, 10)]);
    });
  });

  describe('a record whose handler fails', () => {
    it('is not committed, waits, and is handed out again before the next ones', async () => {
      world = await IntakeWorld.of(1);
      await world.write(6);
      const redeliveries: number[] = [];
      const member = await world.started(({ record, redeliveries: again }) => {
        if (record.offset !== 3) return succeeded;
        redeliveries.push(again);
        return again < 2 ? failed('not yet') : succeeded;
      });
      await world.untilCommitted(3);
      expect(member.intake.status.partitionPauses).toMatchObject([
        { partition: 0, reasons: ['backoff'], error: { message: 'not yet' } },
      ]);
      await world.untilCommitted(6);
      expect(redeliveries).toEqual([0, 1, 2]);
      expect(member.offsets()).toEqual([0, 1, 2, 3, 3, 3, 4, 5]);
      expect(member.intake.counts).toMatchObject({ succeeded: 6, failed: 2, inFlight: 0 });
      expect(reconciles(member.intake.counts)).toBe(true);
      expect(member.intake.status.partitionPauses).toEqual([]);
    });

    it.each<[string, () => never]>([
      [
        'throws',
        () => {
          throw new TypeError('escaped');
        },
      ],
      ['rejects', () => Promise.reject(new TypeError('escaped')) as never],
      ['gives nothing', () => undefined as never],
      ['gives a word nobody knows', () => ({ kind: 'fine' }) as never],
    ])('counts as failed when the processor %s', async (_, misbehave) => {
      world = await IntakeWorld.of(1);
      await world.write(3);
      const member = await world.started(({ record, redeliveries }) =>
        record.offset === 1 && redeliveries === 0 ? misbehave() : succeeded,
      );
      await world.untilCommitted(3);
      expect(member.offsets()).toEqual([0, 1, 1, 2]);
      expect(member.intake.counts.failed).toBe(1);
    });

    it('waits longer each time, up to the limit, and from the beginning after a success', async () => {
      world = await IntakeWorld.of(1);
      await world.write(2);
      const tries: [number, number][] = [];
      await world.started(({ record, redeliveries }) => {
        tries.push([record.offset, world.runtime.monotonic()]);
        return redeliveries < 6 ? failed() : succeeded;
      });
      await world.until(() => tries.length === 14);
      await world.untilCommitted(2);
      const waits = tries.map(([, at], index) => (tries[index + 1]?.[1] ?? 0) - at);
      const limits = [1_000, 2_000, 4_000, 8_000, 10_000, 10_000];
      for (const [index, limit] of [...limits, 0, ...limits].entries()) {
        expect(waits[index]).toBeGreaterThanOrEqual(limit / 2);
        expect(waits[index]).toBeLessThanOrEqual(limit + 30);
      }
    });

    it('within a slice: what was done behind it is not handed out again', async () => {
      world = await IntakeWorld.of(1);
      await world.write(5);
      const slices: number[][] = [];
      const member = await world.started(undefined, {
        processor: {
          process: () => failed(),
          processSlice: (slice) => {
            slices.push(slice.map(({ record }) => record.offset));
            return slice.map(({ record: { offset }, redeliveries }) =>
              offset % 2 === 1 && redeliveries === 0 ? failed() : succeeded,
            );
          },
        },
      });
      await world.untilCommitted(5);
      expect(slices).toEqual([upTo(5), [1, 3]]);
      expect(member.intake.counts).toMatchObject({ received: 7, succeeded: 5, failed: 2 });
    });
  });

  describe('a record that is handed back', () => {
    it('comes again after the delay that was asked for, and not as a failure', async () => {
      world = await IntakeWorld.of(1);
      await world.write(2);
      const at: number[] = [];
      const member = await world.started(({ record, redeliveries }) => {
        if (record.offset === 1) return succeeded;
        at.push(world.runtime.monotonic());
        return redeliveries === 0 ? { kind: 'handed-back', delayMs: 7_000 } : succeeded;
      });
      await world.until(() => at.length === 1);
      expect(member.intake.status.partitionPauses).toMatchObject([{ reasons: ['delay'] }]);
      await world.untilCommitted(2);
      expect((at[1] ?? 0) - (at[0] ?? 0)).toBeGreaterThanOrEqual(7_000);
      expect((at[1] ?? 0) - (at[0] ?? 0)).toBeLessThanOrEqual(7_050);
      expect(member.intake.counts).toMatchObject({ succeeded: 2, failed: 0, handedBack: 2 });
    });

    it('without a delay does not spin', async () => {
      world = await IntakeWorld.of(1);
      await world.write(1);
      const member = await world.started(() => ({ kind: 'handed-back' }));
      await world.runtime.advance(60_000);
      expect(member.handled.length).toBeLessThan(20);
    });

    it('without a delay comes at once when a pause of the session ends', async () => {
      world = await IntakeWorld.of(1);
      await world.write(1);
      let isOpen = true;
      const member = await world.started(() => (isOpen ? { kind: 'handed-back' } : succeeded));
      await world.until(() => member.handled.length === 4);
      await world.done(member.intake.pause('circuit'));
      isOpen = false;
      expect(member.intake.resume('circuit')).toEqual([]);
      await world.runtime.advance(20);
      expect(member.intake.counts.succeeded).toBe(1);
    });
  });

  describe('pause', () => {
    it('lets no record reach the handler any more, prefetched ones included', async () => {
      world = await IntakeWorld.of(1);
      await world.write(50);
      const gate = new Deferred<Outcome>();
      const member = await world.started(({ record }) =>
        record.offset === 2 ? gate.promise : succeeded,
      );
      await world.until(() => member.handled.length === 3);
      await world.done(member.intake.pause('operator'));
      expect(await world.committed()).toBe(2);
      gate.resolve(succeeded);
      await world.write(5);
      await world.runtime.advance(20_000);
      expect(member.offsets()).toEqual([0, 1, 2]);
      expect(await world.committed()).toBe(3);
      expect(member.intake.status).toMatchObject({ state: 'joined', pauses: ['operator'] });

      expect(member.intake.resume('operator')).toEqual([]);
      await world.untilCommitted(55);
      expect(member.offsets()).toEqual(upTo(55));
      expect(reconciles(member.intake.counts)).toBe(true);
    });

    it('for longer than the session time-out keeps the member in its group: no rebalance', async () => {
      world = await IntakeWorld.of(1);
      const member = await world.started();
      const assignments = () =>
        member.log.filter(({ message }) => message === 'Partitions assigned').length;
      await world.done(member.intake.pause('operator'));
      await world.write(3);
      await world.runtime.advance(60_000);
      expect(assignments()).toBe(1);
      member.intake.resume('operator');
      await world.untilCommitted(3);
      expect(assignments()).toBe(1);
    });

    it('lasts until the last reason is gone', async () => {
      world = await IntakeWorld.of(1);
      const member = await world.started();
      await world.done(member.intake.pause('operator'));
      await world.done(member.intake.pause('circuit'));
      await world.write(1);
      expect(member.intake.resume('circuit')).toEqual(['operator']);
      await world.runtime.advance(5_000);
      expect(member.handled).toEqual([]);
      expect(member.intake.resume('operator')).toEqual([]);
      await world.untilCommitted(1);
    });

    it('is not ended by the backoff of a partition', async () => {
      world = await IntakeWorld.of(1);
      await world.write(1);
      const member = await world.started(({ redeliveries }) =>
        redeliveries === 0 ? failed() : succeeded,
      );
      await world.until(() => member.intake.counts.failed === 1);
      await world.done(member.intake.pause('operator'));
      await world.runtime.advance(30_000);
      expect(member.handled).toHaveLength(1);
      member.intake.resume('operator');
      await world.untilCommitted(1);
    });

    it('does not cut short the backoff of a partition', async () => {
      world = await IntakeWorld.of(1);
      await world.write(1);
      const settings = { failureBackoff: { initialMs: 20_000, maxMs: 20_000 } };
      const member = await world.started(() => failed(), { settings });
      await world.until(() => member.handled.length === 1);
      await world.done(member.intake.pause('operator'));
      member.intake.resume('operator');
      await world.runtime.advance(9_000);
      expect(member.handled).toHaveLength(1);
    });

    it('holds for partitions that come later', async () => {
      world = await IntakeWorld.of(2);
      const settings = { rebalanceDrainTimeoutMs: 100 };
      const first = await world.started(undefined, { settings });
      const second = await world.started(undefined, { settings });
      await world.until(() => first.intake.status.assignment.length === 1);
      await world.done(first.intake.pause('operator'));
      await world.done(second.intake.close());
      await world.until(() => first.intake.status.assignment.length === 2);
      await world.write(1, 0);
      await world.write(1, 1);
      await world.runtime.advance(10_000);
      expect(first.handled).toEqual([]);
      first.intake.resume('operator');
      await world.untilCommitted(1, 0);
      await world.untilCommitted(1, 1);
    });

    it('holds from the start when it came before', async () => {
      world = await IntakeWorld.of(1);
      await world.write(1);
      const member = world.intake();
      await world.done(member.intake.pause('operator'));
      await world.done(member.intake.start());
      await world.runtime.advance(5_000);
      expect(member.handled).toEqual([]);
    });

    it('ends waits between attempts at once, and leaves the handler alone', async () => {
      world = await IntakeWorld.of(1);
      await world.write(1);
      const signals: (AbortSignal | undefined)[] = [];
      const member = await world.started((delivery) => {
        signals.push(delivery.signal, delivery.waitSignal);
        return new Promise<Outcome>(() => undefined);
      });
      await world.until(() => signals.length === 2);
      await world.done(member.intake.pause('operator'));
      expect(signals.map((signal) => signal?.aborted)).toEqual([false, true]);
    });
  });

  describe('drain', () => {
    it('waits for a handler that ends in time, and commits it', async () => {
      world = await IntakeWorld.of(1);
      await world.write(20);
      const gate = new Deferred<Outcome>();
      const member = await world.started(() => gate.promise);
      await world.until(() => member.handled.length === 1);
      const drained = watched(member.intake.drain(30_000));
      world.runtime.setTimer(() => gate.resolve(succeeded), 29_000);
      await world.until(() => drained.ended);
      expect(drained.result).toEqual({ complete: true, abandoned: [] });
      expect(await world.committed()).toBe(1);
      expect(member.offsets()).toEqual([0]);
    });

    it('leaves one that ends later uncommitted: its record is delivered elsewhere', async () => {
      world = await IntakeWorld.of(1);
      await world.write(3);
      const gate = new Deferred<Outcome>();
      const aborted: boolean[] = [];
      const member = await world.started(({ record, signal }) => {
        if (record.offset === 0) return succeeded;
        signal.addEventListener('abort', () => aborted.push(true));
        return gate.promise;
      });
      await world.until(() => member.handled.length === 2);
      const drained = watched(member.intake.drain(30_000));
      world.runtime.setTimer(() => gate.resolve(succeeded), 31_000);
      await world.until(() => drained.ended);
      expect(drained.result).toEqual({
        complete: false,
        abandoned: [{ topic: 't', partition: 0, offset: 1 }],
      });
      expect(aborted).toEqual([true]);
      await world.runtime.advance(5_000);
      await world.done(member.intake.close());
      expect(await world.committed()).toBe(1);
      expect(reconciles(member.intake.counts)).toBe(true);
      const next = await world.started();
      await world.untilCommitted(3);
      expect(next.offsets()).toEqual([1, 2]);
    });

    it('is not complete while what was done is not committed', async () => {
      world = await IntakeWorld.of(1);
      await world.write(1);
      const refusal = 'COORDINATOR_LOAD_IN_PROGRESS';
      const fault = world.broker.faults.refuse({ operation: 'commit' }, refusal);
      const { intake, handled } = await world.started();
      await world.until(() => handled.length === 1);
      expect(await world.done(intake.drain(1_000))).toEqual({ complete: false, abandoned: [] });
      fault.lift();
    });

    it('is one drain, however often it is asked for', async () => {
      world = await IntakeWorld.of(1);
      const { intake } = await world.started();
      expect(intake.drain(10)).toBe(intake.drain(99));
    });
  });

  describe('close', () => {
    it('commits what is done before it leaves, waits for nobody, and is one close', async () => {
      world = await IntakeWorld.of(1);
      await world.write(9);
      const settings = { ackMode: 'MANUAL', maxPollRecords: 9 } as const;
      const member = await world.started(
        ({ record }) => (record.offset === 4 ? new Promise<Outcome>(() => undefined) : succeeded),
        { settings },
      );
      await world.until(() => member.handled.length === 5);
      const before = world.runtime.monotonic();
      expect(member.intake.close()).toBe(member.intake.close());
      await world.done(member.intake.close());
      expect(world.runtime.monotonic() - before).toBeLessThan(2_000);
      expect(await world.committed()).toBe(4);
      expect(member.intake.status.state).toBe('closed');
    });

    it('is bounded with the broker gone', async () => {
      world = await IntakeWorld.of(1);
      await world.write(3);
      const member = await world.started(() => succeeded, { clientId: 'cut' });
      await world.untilCommitted(3);
      world.broker.faults.unplug({ clientId: 'cut' });
      const before = world.runtime.monotonic();
      await world.done(member.intake.close());
      expect(world.runtime.monotonic() - before).toBeLessThan(60_000);
    });

    it('rejects a start that has not joined', async () => {
      world = await IntakeWorld.of(1);
      world.broker.faults.unplug({ clientId: 'cut' });
      const member = world.intake(undefined, { clientId: 'cut' });
      const started = watched(member.intake.start());
      await world.until(() => member.intake.status.state === 'retrying');
      expect(member.intake.status.error).toBeInstanceOf(Error);
      await world.done(member.intake.close());
      expect(started.error).toMatchObject({ code: 'CLOSED' });
    });
  });
});
