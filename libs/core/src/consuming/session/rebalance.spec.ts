import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { ConsumingTestBed, reconciles, upTo } from './consuming-test-bed.spec-support.js';
import { LingeringHandlers } from './lingering-handlers.js';

const settings = { rebalanceDrainTimeoutMs: 5_000 };

describe('a rebalance', () => {
  let testBed: ConsumingTestBed;

  afterEach(() => testBed.end());

  it('waits for the running handler, and commits its record before the partition leaves', async () => {
    testBed = await ConsumingTestBed.of(2);
    for (const partition of [0, 1]) await testBed.write(3, partition);
    const gate = new Deferred<Outcome>();
    const first = await testBed.started(() => gate.promise, { settings });
    await testBed.until(() => first.handled.length === 2);
    const second = testBed.session(undefined, { settings });
    const joined = testBed.done(second.session.start());
    testBed.runtime.setTimer(() => gate.resolve(succeeded), 4_000);
    await joined;
    for (const partition of [0, 1]) await testBed.untilCommitted(3, partition);
    const all = [...first.handled, ...second.handled];
    // Each record was handled once: records in flight were done and committed, and nothing else
    // began.
    expect(all.map(({ partition, offset }) => `${partition}:${offset}`).toSorted()).toEqual([
      '0:0',
      '0:1',
      '0:2',
      '1:0',
      '1:1',
      '1:2',
    ]);
    expect(reconciles(first.session.counts)).toBe(true);
  });

  it('waits no longer than the drain timeout; a late outcome is counted and never committed', async () => {
    testBed = await ConsumingTestBed.of(2);
    for (const partition of [0, 1]) await testBed.write(1, partition);
    const gate = new Deferred<Outcome>();
    const aborts: number[] = [];
    const first = await testBed.started(
      ({ signal }) => {
        signal.addEventListener('abort', () => aborts.push(testBed.runtime.monotonic()));
        return gate.promise;
      },
      { settings },
    );
    await testBed.until(() => first.handled.length === 2);
    const before = testBed.runtime.monotonic();
    const second = await testBed.started(() => new Promise<Outcome>(() => undefined), { settings });
    await testBed.until(() => second.handled.length === 1);
    const took = testBed.runtime.monotonic() - before;
    expect(took).toBeGreaterThanOrEqual(5_000);
    expect(took).toBeLessThan(8_000);
    expect(aborts).toHaveLength(2);
    const [moved] = second.handled;
    gate.resolve(succeeded);
    await testBed.runtime.advance(5_000);
    expect(await testBed.committed(moved?.partition)).toBeUndefined();
    expect(first.session.counts).toMatchObject({ succeeded: 3, inFlight: 0 });
    expect(first.log).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('ended after its partition') }),
    );
  });

  it('makes a record that returns to the same process wait for its previous handler', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(2);
    const gates = [new Deferred<Outcome>(), new Deferred<Outcome>()];
    let calls = 0;
    const first = await testBed.started(() => (gates[calls++] as Deferred<Outcome>).promise, {
      settings: { rebalanceDrainTimeoutMs: 100 },
    });
    await testBed.until(() => first.handled.length === 1);
    // Another member joins and leaves, so the first one gets the partition again.
    const second = await testBed.started(() => new Promise<Outcome>(() => undefined), { settings });
    await testBed.done(second.session.close());
    await testBed.until(() => first.session.status.assignment.length === 1);
    await testBed.runtime.advance(10_000);
    expect(first.offsets()).toEqual([0]);
    gates[0]?.resolve(succeeded);
    await testBed.until(() => first.handled.length === 2);
    // The first outcome belonged to an assignment that had ended.
    expect(first.offsets()).toEqual([0, 0]);
    expect(await testBed.committed()).toBeUndefined();
    gates[1]?.resolve(succeeded);
  });

  it('makes a session wait for the handler of another session of its container', async () => {
    testBed = await ConsumingTestBed.of(2);
    for (const partition of [0, 1]) await testBed.write(1, partition);
    const lingering = new LingeringHandlers();
    const gate = new Deferred<Outcome>();
    const options = { settings: { rebalanceDrainTimeoutMs: 100 }, lingering };
    const first = await testBed.started(() => gate.promise, options);
    await testBed.until(() => first.handled.length === 2);
    const second = await testBed.started(() => succeeded, options);
    await testBed.runtime.advance(10_000);
    expect(second.handled).toEqual([]);
    gate.resolve(succeeded);
    await testBed.until(() => second.handled.length === 1);
    await testBed.untilCommitted(1, second.handled[0]?.partition);
  });

  it('commits nothing if it is noticed too late: handlers are aborted, and the record is redelivered', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(2);
    const gate = new Deferred<Outcome>();
    const signals: AbortSignal[] = [];
    const member = await testBed.started(
      ({ signal }) => {
        signals.push(signal);
        return signals.length === 1 ? gate.promise : succeeded;
      },
      { clientId: 'cut', settings: { maxPollIntervalMs: 30_000 } },
    );
    await testBed.until(() => signals.length === 1);
    const fault = testBed.broker.faults.dropHeartbeats({ clientId: 'cut' });
    await testBed.until(() => signals[0]?.aborted === true);
    gate.resolve(succeeded);
    await testBed.runtime.settle();
    fault.lift();
    await testBed.untilCommitted(2);
    expect(member.offsets()).toEqual([0, 0, 1]);
    expect(member.session.counts).toMatchObject({ succeeded: 3, inFlight: 0 });
    expect(member.log).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining('Partitions lost') }),
    );
  });

  it('logs the committed offsets of revoked partitions, and ends retry waits at once', async () => {
    testBed = await ConsumingTestBed.of(2);
    for (const partition of [0, 1]) await testBed.write(4, partition);
    const first = await testBed.started(
      ({ record, waitSignal }) =>
        record.offset < 2
          ? succeeded
          : new Promise<Outcome>((resolve) =>
              waitSignal?.addEventListener('abort', () => resolve({ kind: 'handed-back' })),
            ),
      { settings },
    );
    await testBed.until(() => first.handled.length === 6);
    const before = testBed.runtime.monotonic();
    await testBed.started(() => succeeded, { settings });
    expect(testBed.runtime.monotonic() - before).toBeLessThan(3_000);
    const revoked = first.log.find(({ message }) => message === 'Partitions revoked');
    expect(revoked?.context['partitions']).toMatchObject([
      { partition: 0, committed: 2 },
      { partition: 1, committed: 2 },
    ]);
  });

  it('does not wait for commits of the partitions that stay', async () => {
    testBed = await ConsumingTestBed.of(2, { latencyMs: 6 });
    for (const partition of [0, 1]) await testBed.write(20_000, partition);
    const work = async (): Promise<Outcome> => {
      await sleep(testBed.runtime, 1);
      return succeeded;
    };
    const consumer = { assignors: ['cooperative-sticky'] as const };
    const busy = { ...settings, ackMode: 'MANUAL', maxPollRecords: 1 } as const;
    const first = await testBed.started(work, { settings: busy, consumer });
    await testBed.until(() => first.handled.length > 100);
    const second = await testBed.started(undefined, { settings: busy, consumer });
    await testBed.until(() => second.handled.length > 0);
    const revoked = first.log.filter(({ message }) => message === 'Partitions revoked');
    expect(revoked.map(({ context }) => context['isCommitted'])).toEqual([true]);
  });

  it('resets backoff and redeliveries of a partition', async () => {
    testBed = await ConsumingTestBed.of(2);
    await testBed.write(1, 0);
    const redeliveries: number[] = [];
    const first = await testBed.started(
      (delivery) => {
        redeliveries.push(delivery.history.redeliveries);
        return { kind: 'failed', reason: 'redeliver', attempts: 1, error: new Error('no') };
      },
      { settings: { failureBackoff: { initialMs: 300_000, maxMs: 300_000 } } },
    );
    await testBed.until(() => first.handled.length === 1);
    const second = await testBed.started(() => ({
      kind: 'failed',
      reason: 'redeliver',
      attempts: 1,
      error: new Error('no'),
    }));
    await testBed.done(second.session.close());
    await testBed.until(() => first.handled.length + second.handled.length === 3);
    expect(new Set(redeliveries)).toEqual(new Set([0]));
  });

  it('counts a reset to another offset as another assignment', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(10);
    const member = await testBed.started(({ record }) =>
      record.offset === 0 ? { kind: 'handed-back', delayMs: 60_000 } : succeeded,
    );
    await testBed.until(() => member.handled.length === 1);
    const admin = member.driver.admin();
    await testBed.done(admin.deleteRecords('t', [{ partition: 0, offset: 6 }]));
    await testBed.until(() => member.handled.length === 5);
    await testBed.untilCommitted(10);
    expect(member.offsets()).toEqual([0, ...upTo(4, 6)]);
    expect(reconciles(member.session.counts)).toBe(true);
  });

  it('does not lose received records when retention moves the log start', async () => {
    testBed = await ConsumingTestBed.of(1);
    await testBed.write(5);
    const gate = new Deferred<Outcome>();
    const signals: AbortSignal[] = [];
    const member = await testBed.started(({ record, signal }) => {
      signals.push(signal);
      return record.offset === 0 ? gate.promise : succeeded;
    });
    await testBed.until(() => member.handled.length === 1);
    // All five records were received. While fetching fails, more records are written and deleted
    // again.
    const fault = testBed.broker.faults.refuse({ operation: 'fetch' }, 'NOT_LEADER_OR_FOLLOWER');
    await testBed.runtime.advance(10_000);
    await testBed.write(15);
    await testBed.done(member.driver.admin().deleteRecords('t', [{ partition: 0, offset: 18 }]));
    fault.lift();
    await testBed.until(() => member.log.some(({ message }) => message.includes('reset policy')));
    await testBed.runtime.advance(1_000);
    gate.resolve(succeeded);
    await testBed.untilCommitted(20);
    expect(member.offsets()).toEqual([...upTo(5), 18, 19]);
    expect(signals.every(({ aborted }) => !aborted)).toBe(true);
    expect(reconciles(member.session.counts)).toBe(true);
  });
});
