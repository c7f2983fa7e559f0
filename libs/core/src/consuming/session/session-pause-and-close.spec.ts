import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { ConsumingTestBed, reconciles, upTo, watched } from './consuming-test-bed.spec-support.js';

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

  describe('a pause of the session', () => {
    it('hands no further record to a handler, not even a prefetched one', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(50);
      const gate = new Deferred<Outcome>();
      const member = await testBed.started(({ record }) =>
        record.offset === 2 ? gate.promise : succeeded,
      );
      await testBed.until(() => member.handled.length === 3);
      await testBed.done(member.session.pause('operator'));
      expect(await testBed.committed()).toBe(2);
      gate.resolve(succeeded);
      await testBed.write(5);
      await testBed.runtime.advance(20_000);
      expect(member.offsets()).toEqual([0, 1, 2]);
      expect(await testBed.committed()).toBe(3);
      expect(member.session.status).toMatchObject({ state: 'joined', pauses: ['operator'] });

      expect(member.session.resume('operator')).toEqual([]);
      await testBed.untilCommitted(55);
      expect(member.offsets()).toEqual(upTo(55));
      expect(reconciles(member.session.counts)).toBe(true);
    });

    it('keeps the member in its group beyond the session timeout', async () => {
      testBed = await ConsumingTestBed.of(1);
      const member = await testBed.started();
      const assignments = () =>
        member.log.filter(({ message }) => message === 'Partitions assigned').length;
      await testBed.done(member.session.pause('operator'));
      await testBed.write(3);
      await testBed.runtime.advance(60_000);
      expect(assignments()).toBe(1);
      member.session.resume('operator');
      await testBed.untilCommitted(3);
      expect(assignments()).toBe(1);
    });

    it('lasts until its last reason is removed', async () => {
      testBed = await ConsumingTestBed.of(1);
      const member = await testBed.started();
      await testBed.done(member.session.pause('operator'));
      await testBed.done(member.session.pause('circuit'));
      await testBed.write(1);
      expect(member.session.resume('circuit')).toEqual(['operator']);
      await testBed.runtime.advance(5_000);
      expect(member.handled).toEqual([]);
      expect(member.session.resume('operator')).toEqual([]);
      await testBed.untilCommitted(1);
    });

    it('is not ended when the backoff of a partition ends', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(1);
      const member = await testBed.started(({ history: { redeliveries } }) =>
        redeliveries === 0 ? failed() : succeeded,
      );
      await testBed.until(() => member.session.counts.failed === 1);
      await testBed.done(member.session.pause('operator'));
      await testBed.runtime.advance(30_000);
      expect(member.handled).toHaveLength(1);
      member.session.resume('operator');
      await testBed.untilCommitted(1);
    });

    it('does not shorten the backoff of a partition', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(1);
      const settings = { failureBackoff: { initialMs: 20_000, maxMs: 20_000 } };
      const member = await testBed.started(() => failed(), { settings });
      await testBed.until(() => member.handled.length === 1);
      await testBed.done(member.session.pause('operator'));
      member.session.resume('operator');
      await testBed.runtime.advance(9_000);
      expect(member.handled).toHaveLength(1);
    });

    it('applies to partitions that are assigned during the pause', async () => {
      testBed = await ConsumingTestBed.of(2);
      const settings = { rebalanceDrainTimeoutMs: 100 };
      const first = await testBed.started(undefined, { settings });
      const second = await testBed.started(undefined, { settings });
      await testBed.until(() => first.session.status.assignment.length === 1);
      await testBed.done(first.session.pause('operator'));
      await testBed.done(second.session.close());
      await testBed.until(() => first.session.status.assignment.length === 2);
      await testBed.write(1, 0);
      await testBed.write(1, 1);
      await testBed.runtime.advance(10_000);
      expect(first.handled).toEqual([]);
      first.session.resume('operator');
      await testBed.untilCommitted(1, 0);
      await testBed.untilCommitted(1, 1);
    });

    it('applies from the start if it was requested before start()', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(1);
      const member = testBed.session();
      await testBed.done(member.session.pause('operator'));
      await testBed.done(member.session.start());
      await testBed.runtime.advance(5_000);
      expect(member.handled).toEqual([]);
    });

    it('aborts retry waits at once, but not the running handler', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(1);
      const signals: (AbortSignal | undefined)[] = [];
      const member = await testBed.started((delivery) => {
        signals.push(delivery.signal, delivery.waitSignal);
        return new Promise<Outcome>(() => undefined);
      });
      await testBed.until(() => signals.length === 2);
      await testBed.done(member.session.pause('operator'));
      expect(signals.map((signal) => signal?.aborted)).toEqual([false, true]);
    });
  });

  describe('close() with drain time', () => {
    it('waits for a handler that ends within drainMs, and commits its record', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(20);
      const gate = new Deferred<Outcome>();
      const member = await testBed.started(() => gate.promise);
      await testBed.until(() => member.handled.length === 1);
      const drained = watched(member.session.close({ drainMs: 30_000 }));
      testBed.runtime.setTimer(() => gate.resolve(succeeded), 29_000);
      await testBed.until(() => drained.ended);
      expect(drained.result).toEqual({ complete: true, abandoned: [] });
      expect(await testBed.committed()).toBe(1);
      expect(member.offsets()).toEqual([0]);
    });

    it('does not commit a record whose handler ends too late; another member gets the record', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(3);
      const gate = new Deferred<Outcome>();
      const aborted: boolean[] = [];
      const member = await testBed.started(({ record, signal }) => {
        if (record.offset === 0) return succeeded;
        signal.addEventListener('abort', () => aborted.push(true));
        return gate.promise;
      });
      await testBed.until(() => member.handled.length === 2);
      const drained = watched(member.session.close({ drainMs: 30_000 }));
      testBed.runtime.setTimer(() => gate.resolve(succeeded), 31_000);
      await testBed.until(() => drained.ended);
      expect(drained.result).toEqual({
        complete: false,
        abandoned: [{ topic: 't', partition: 0, offset: 1 }],
      });
      expect(aborted).toEqual([true]);
      await testBed.runtime.advance(5_000);
      await testBed.done(member.session.close());
      expect(await testBed.committed()).toBe(1);
      expect(reconciles(member.session.counts)).toBe(true);
      const next = await testBed.started();
      await testBed.untilCommitted(3);
      expect(next.offsets()).toEqual([1, 2]);
    });

    it('resolves with complete: false if completed records could not be committed', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(1);
      const refusal = 'COORDINATOR_LOAD_IN_PROGRESS';
      const fault = testBed.broker.faults.refuse({ operation: 'commit' }, refusal);
      const { session, handled } = await testBed.started();
      await testBed.until(() => handled.length === 1);
      expect(await testBed.done(session.close({ drainMs: 1_000 }))).toEqual({
        complete: false,
        abandoned: [],
      });
      fault.lift();
    });

    it('runs once, however often it is called', async () => {
      testBed = await ConsumingTestBed.of(1);
      const { session } = await testBed.started();
      expect(session.close({ drainMs: 10 })).toBe(session.close({ drainMs: 99 }));
    });
  });

  describe('close() without drain time', () => {
    it('commits completed records, waits for no handler, and runs once', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(9);
      const settings = { ackMode: 'MANUAL', maxPollRecords: 9 } as const;
      const member = await testBed.started(
        ({ record }) => (record.offset === 4 ? new Promise<Outcome>(() => undefined) : succeeded),
        { settings },
      );
      await testBed.until(() => member.handled.length === 5);
      const before = testBed.runtime.monotonic();
      expect(member.session.close()).toBe(member.session.close());
      await testBed.done(member.session.close());
      expect(testBed.runtime.monotonic() - before).toBeLessThan(2_000);
      expect(await testBed.committed()).toBe(4);
      expect(member.session.status.state).toBe('closed');
    });

    it('ends within 60 s while the broker is unreachable', async () => {
      testBed = await ConsumingTestBed.of(1);
      await testBed.write(3);
      const member = await testBed.started(() => succeeded, { clientId: 'cut' });
      await testBed.untilCommitted(3);
      testBed.broker.faults.unplug({ clientId: 'cut' });
      const before = testBed.runtime.monotonic();
      await testBed.done(member.session.close());
      expect(testBed.runtime.monotonic() - before).toBeLessThan(60_000);
    });

    it('rejects start() if the session has not joined yet', async () => {
      testBed = await ConsumingTestBed.of(1);
      testBed.broker.faults.unplug({ clientId: 'cut' });
      const member = testBed.session(undefined, { clientId: 'cut' });
      const started = watched(member.session.start());
      await testBed.until(() => member.session.status.state === 'retrying');
      expect(member.session.status.error).toBeInstanceOf(Error);
      await testBed.done(member.session.close());
      expect(started.error).toMatchObject({ code: 'CLOSED' });
    });
  });
});
