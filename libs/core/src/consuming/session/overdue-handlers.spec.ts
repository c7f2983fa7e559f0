import { Deferred, sleep } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import type { ConsumingSettings } from './consuming-session.js';
import {
  type SessionUnderTest,
  ConsumingTestBed,
  upTo,
} from './consuming-test-bed.spec-support.js';

const MAX_POLL_MS = 20_000;
const settings = { maxPollIntervalMs: MAX_POLL_MS, stuckHandlerMs: MAX_POLL_MS } as const;

describe('a handler that exceeds maxPollIntervalMs', () => {
  let testBed: ConsumingTestBed;
  beforeEach(async () => (testBed = await ConsumingTestBed.of(2)));
  afterEach(() => testBed.end());

  it('is aborted by its signal, loses its partitions, and commits no record when it ends', async () => {
    await testBed.write(3, 0);
    const gate = new Deferred<Outcome>();
    let signal: AbortSignal | undefined;
    const first = await testBed.started(
      (delivery) => {
        signal = delivery.signal;
        return gate.promise;
      },
      { settings },
    );
    await testBed.until(() => first.handled.length === 1);
    const second = testBed.session(() => new Promise<Outcome>(() => undefined), { settings });
    await testBed.runtime.advance(MAX_POLL_MS - 1_000);
    expect([signal?.aborted, first.session.status.state]).toEqual([false, 'joined']);
    void second.session.start().catch(() => undefined);
    await testBed.until(() => second.handled.length === 1);
    expect(signal?.aborted).toBe(true);
    expect(second.offsets()).toEqual([0]);
    gate.resolve(succeeded);
    await testBed.runtime.advance(5_000);
    expect(await testBed.committed()).toBeUndefined();
    expect(first.log.map(({ message }) => message)).toContain(
      'A handler ended after its partition was taken away: its record is delivered again',
    );
  });

  it('does not block its partition: the same member redelivers the record while the handler still hangs', async () => {
    await testBed.write(3, 0);
    const hanging = new Deferred<Outcome>();
    let calls = 0;
    const member = await testBed.started(() => (++calls === 2 ? hanging.promise : succeeded), {
      settings,
    });
    await testBed.until(() => member.handled.length === 2);
    await testBed.runtime.advance(MAX_POLL_MS);
    await testBed.until(() => member.session.status.state === 'retrying');
    expect(member.session.status.error).toMatchObject({ code: 'HANDLER_OVERDUE' });
    expect(member.session.counts.membershipsGivenUp).toBe(1);
    await testBed.untilCommitted(3);
    expect(member.offsets()).toEqual([0, 1, 1, 2]);
    hanging.resolve(succeeded);
    await testBed.runtime.settle();
    expect(member.session.status.state).toBe('joined');
  });

  it('does not block other keys, even if handlers that never end held all slots', async () => {
    await testBed.writeKeys(['a', 'b', 'c', 'd']);
    const hanging = new Deferred<Outcome>();
    let next: Promise<Outcome> | Outcome = hanging.promise;
    const processing = { by: 'key', maxConcurrency: 2 } as const;
    const member = await testBed.started(() => next, { settings: { ...settings, processing } });
    await testBed.until(() => member.handled.length === 2);
    expect(member.offsets()).toEqual([0, 1]);
    next = succeeded;
    await testBed.runtime.advance(MAX_POLL_MS);
    await testBed.untilCommitted(4);
    expect(member.session.status.stuckHandlers).toBe(2);
    // The slots of these handlers were freed before, so the end of the handlers must not free other
    // slots.
    hanging.resolve(succeeded);
    const gate = new Deferred<Outcome>();
    next = gate.promise;
    await testBed.writeKeys(['a', 'b', 'c', 'd']);
    await testBed.until(() => member.session.status.runningHandlers > 0);
    await testBed.runtime.advance(1_000);
    expect(member.session.status.runningHandlers).toBe(2);
    gate.resolve(succeeded);
  });

  it('does not undo the commits of other records', async () => {
    await testBed.write(1, 0);
    await testBed.write(10, 1);
    const hanging = new Deferred<Outcome>();
    let calls = 0;
    const member = await testBed.started(
      ({ record }) => (record.partition === 0 && ++calls === 1 ? hanging.promise : succeeded),
      { settings: { ...settings, ackMode: 'MANUAL' } },
    );
    await testBed.untilCommitted(10, 1);
    await testBed.runtime.advance(2 * MAX_POLL_MS);
    await testBed.untilCommitted(1, 0);
    expect([member.offsets(0), member.offsets(1)]).toEqual([[0, 0], upTo(10)]);
    hanging.resolve(succeeded);
  });
});

describe('while a handler exceeds maxPollIntervalMs', () => {
  const DRAIN_MS = 10_000;
  let testBed: ConsumingTestBed;
  let hanging: Deferred<Outcome>;
  beforeEach(async () => {
    testBed = await ConsumingTestBed.of(2);
    hanging = new Deferred();
  });
  afterEach(async () => {
    hanging.resolve(succeeded);
    await testBed.end();
  });

  /**
   * The first call of the first record of partition 0 hangs. The next two calls for other records
   * take `lateMs`.
   */
  const startedWith = async (lateMs: number, more: Partial<ConsumingSettings> = {}) => {
    let first = true;
    let late = 0;
    const signals = new Map<string, AbortSignal>();
    const member = await testBed.started(
      ({ record: { partition, offset }, signal }) => {
        signals.set(`${partition}/${offset}`, signal);
        if (partition === 0 && offset === 0) {
          const answer = first ? hanging.promise : succeeded;
          first = false;
          return answer;
        }
        if (late-- <= 0) return succeeded;
        return sleep(testBed.runtime, lateMs).then(() => succeeded);
      },
      { settings: { ...settings, rebalanceDrainTimeoutMs: DRAIN_MS, ...more } },
    );
    await testBed.until(() => member.handled.length > 0);
    await testBed.runtime.advance(MAX_POLL_MS - 1_000);
    late = 2;
    return { member, signals };
  };

  const calls = ({ handled }: SessionUnderTest, partition: number, offset: number): number =>
    handled.filter((each) => each.partition === partition && each.offset === offset).length;

  it.each([
    ['one after the other', { ackMode: 'MANUAL_IMMEDIATE' }],
    ['slice by slice', { ackMode: 'MANUAL' }],
  ] as const)(
    'another partition finishes its running record, %s, and commits it',
    async (_, more) => {
      await testBed.write(1, 0);
      const { member, signals } = await startedWith(5_000, more);
      await testBed.write(3, 1);
      await testBed.until(() => calls(member, 1, 0) === 1);
      await testBed.until(() => member.session.counts.membershipsGivenUp === 1);
      await testBed.runtime.advance(3_000);
      expect([signals.get('0/0')?.aborted, signals.get('1/0')?.aborted]).toEqual([true, false]);
      expect(calls(member, 1, 1)).toBe(0);
      await testBed.untilCommitted(3, 1);
      await testBed.untilCommitted(1, 0);
      expect(upTo(3).map((offset) => calls(member, 1, offset))).toEqual([1, 1, 1]);
    },
  );

  it('another key of the same partition finishes its running record, too', async () => {
    await testBed.writeKeys(['a']);
    const { member } = await startedWith(5_000, {
      processing: { by: 'key', maxConcurrency: 4 },
    });
    await testBed.writeKeys(['b', 'a', 'b']);
    await testBed.until(() => calls(member, 0, 1) === 1);
    await testBed.runtime.advance(5_000);
    await testBed.untilCommitted(4, 0);
    expect(upTo(4).map((offset) => calls(member, 0, offset))).toEqual([2, 1, 1, 1]);
  });

  it('the session waits only for handlers that still end', async () => {
    await testBed.write(1, 0);
    const { member } = await startedWith(2_000);
    await testBed.write(1, 1);
    await testBed.until(() => member.session.counts.membershipsGivenUp === 1);
    const since = testBed.runtime.monotonic();
    await testBed.until(() => calls(member, 0, 0) === 2);
    // The time includes the running record, the end of the other handler, and a second before the
    // next attempt.
    expect(testBed.runtime.monotonic() - since).toBeLessThan(DRAIN_MS / 2);
  });

  it('the session waits no longer than the drain timeout', async () => {
    await testBed.write(1, 0);
    const { member, signals } = await startedWith(MAX_POLL_MS - 1_000);
    await testBed.write(1, 1);
    await testBed.until(() => member.session.counts.membershipsGivenUp === 1);
    const [late] = [signals.get('1/0')];
    await testBed.runtime.advance(DRAIN_MS - 1_000);
    expect(late?.aborted).toBe(false);
    await testBed.runtime.advance(2_000);
    expect(late?.aborted).toBe(true);
  });

  it('a close without drain time waits for no handler', async () => {
    await testBed.write(1, 0);
    const { member } = await startedWith(9_000);
    await testBed.write(1, 1);
    await testBed.until(() => member.session.counts.membershipsGivenUp === 1);
    const since = testBed.runtime.monotonic();
    await testBed.done(member.session.close());
    expect(testBed.runtime.monotonic() - since).toBeLessThan(1_000);
  });

  it('a revocation waits for the other handlers, as it always does', async () => {
    await testBed.write(1, 0);
    const { member } = await startedWith(5_000);
    await testBed.write(3, 1);
    await testBed.until(() => member.session.counts.membershipsGivenUp === 1);
    const other = testBed.session(() => succeeded, { settings });
    void other.session.start().catch(() => undefined);
    await testBed.runtime.advance(DRAIN_MS);
    await testBed.untilCommitted(3, 1);
    await testBed.untilCommitted(1, 0);
    expect(member.offsets(1).filter((offset) => other.offsets(1).includes(offset))).toEqual([]);
    expect(member.session.status.partitionPauses).toEqual([]);
  });
});

describe('a member stays in its group', () => {
  let testBed: ConsumingTestBed;
  // In this test, twice as many records are completed beyond the first unfinished one.
  const METADATA_LIMIT = 120;
  beforeEach(
    async () => (testBed = await ConsumingTestBed.of(1, { offsetMetadataLimit: METADATA_LIMIT })),
  );
  afterEach(() => testBed.end());

  it.each([
    ['while it is paused', 'pause'],
    ['while a record waits for its backoff', 'backoff'],
    ['while a record was handed back with a long delay', 'delay'],
    ['while the commit metadata is full', 'full'],
  ] as const)('%s, however long that takes', async (_, why) => {
    await testBed.writeKeys(upTo(200).map(String));
    const longMs = 5 * MAX_POLL_MS;
    let isFree = false;
    const member = await testBed.started(
      ({ record }) => {
        if (isFree) return succeeded;
        if (why === 'backoff')
          return { kind: 'failed', reason: 'redeliver', attempts: 1, error: new Error('no luck') };
        if (why === 'delay') return { kind: 'handed-back', delayMs: longMs };
        if (why === 'full' && record.offset % 2 === 0)
          return { kind: 'handed-back', delayMs: longMs };
        return succeeded;
      },
      {
        settings: {
          ...settings,
          processing: { by: 'key', maxConcurrency: 20 },
          failureBackoff: { initialMs: longMs, maxMs: longMs },
        },
      },
    );
    if (why === 'pause') await testBed.done(member.session.pause('operator'));
    await testBed.runtime.advance(longMs);
    expect(member.session.status).toMatchObject({ state: 'joined', stuckHandlers: 0 });
    const { metadata } = (await testBed.commitOf()) ?? {};
    expect((metadata?.length ?? 0) > METADATA_LIMIT / 2).toBe(why === 'full');
    isFree = true;
    member.session.resume('operator');
    await testBed.until(() => member.session.counts.succeeded === 200);
    await testBed.untilCommitted(200);
    const joins = member.log.filter(({ message }) => message === 'Partitions assigned');
    expect(joins).toHaveLength(1);
  });
});
