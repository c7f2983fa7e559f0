import { Deferred } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { handedBack, type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { decodeMetadata } from '../commits/commit-metadata.js';
import {
  type Handle,
  type SessionUnderTest,
  type SessionUnderTestOptions,
  ConsumingTestBed,
  reconciles,
  TOPIC,
  upTo,
} from '../session/consuming-test-bed.spec-support.js';
import type { ConsumingSettings } from '../session/consuming-session.js';
import { OffsetTracker } from '../commits/offset-tracker.js';
import { PartitionProgress } from '../commits/partition-progress.js';

const failed = (rest: object = {}): Outcome => ({
  kind: 'failed',
  reason: 'redeliver',
  attempts: 1,
  error: new Error('no'),
  ...rest,
});

/** Offset in the numbers of running records per partition. */
const PARTITION = 1_000;

/** Records with these keys in one partition, and handlers that the test ends. */
class Keys {
  readonly begun: number[] = [];
  readonly #running = new Map<number, Deferred<Outcome>>();
  most = 0;

  constructor(
    readonly testBed: ConsumingTestBed,
    /** Replaces the handlers by ones that answer by themselves. */
    readonly answer: (delivery: Delivery) => Outcome | Promise<Outcome> | undefined,
  ) {}

  static async of(
    keys: readonly (string | null)[],
    answer: (delivery: Delivery) => Outcome | Promise<Outcome> | undefined = () => undefined,
  ): Promise<Keys> {
    const testBed = await ConsumingTestBed.of(1);
    await testBed.writeKeys(keys);
    return new Keys(testBed, answer);
  }

  start(
    settings: Partial<ConsumingSettings> = {},
    options: SessionUnderTestOptions = {},
  ): Promise<SessionUnderTest> {
    const processing = { by: 'key', maxConcurrency: 8 } as const;
    return this.testBed.started(this.handle, { ...options, settings: { processing, ...settings } });
  }

  get running(): readonly number[] {
    return [...this.#running.keys()];
  }

  /** Offsets that the group knows to be completed beyond the committed one. */
  async doneBeyondGap(): Promise<readonly number[]> {
    const { offset = 0, metadata = null } = (await this.testBed.commitOf()) ?? {};
    const runs = decodeMetadata(offset, metadata)?.ranges ?? [];
    return runs.flatMap(({ from, to }) => upTo(to - from, from));
  }

  async end(offset: number, outcome: Outcome = succeeded): Promise<void> {
    this.#running.get(offset)?.resolve(outcome);
    this.#running.delete(offset);
    await this.testBed.runtime.settle();
  }

  async endAll(): Promise<void> {
    while (this.#running.size > 0) for (const offset of this.running) await this.end(offset);
  }

  readonly handle: Handle = (delivery) => {
    const { partition, offset } = delivery.record;
    this.begun.push(offset);
    const answer = this.answer(delivery);
    if (answer) return answer;
    const ended = new Deferred<Outcome>();
    this.#running.set(partition * PARTITION + offset, ended);
    this.most = Math.max(this.most, this.#running.size);
    return ended.promise;
  };
}

describe('records by key', () => {
  it('run concurrently, those of one key in order; records without a key share a queue', async () => {
    const keys = await Keys.of(['a', 'b', 'a', null, null, 'c', '']);
    const { session } = await keys.start();
    await keys.testBed.until(() => keys.running.length === 5);
    expect(keys.begun).toEqual([0, 1, 3, 5, 6]);
    expect(session.status.runningHandlers).toBe(5);
    await keys.end(0);
    expect(keys.begun).toEqual([0, 1, 3, 5, 6, 2]);
    await keys.end(3);
    expect(keys.begun.at(-1)).toBe(4);
    await keys.endAll();
    await keys.testBed.untilCommitted(7);
    expect(reconciles(session.counts)).toBe(true);
    await keys.testBed.end();
  });

  it('run maxConcurrency handlers at most, over all partitions of the session', async () => {
    const testBed = await ConsumingTestBed.of(3);
    for (const partition of upTo(3)) await testBed.writeKeys(upTo(20).map(String), partition);
    const keys = new Keys(testBed, () => undefined);
    await keys.start({ processing: { by: 'key', maxConcurrency: 4 } });
    await testBed.until(() => keys.running.length === 4);
    for (let turns = 0; turns < 60; turns++) {
      await testBed.until(() => keys.running.length > 0);
      await keys.end(keys.running[0] as number);
    }
    expect([keys.begun.length, keys.most]).toEqual([60, 4]);
    for (const partition of upTo(3)) await testBed.untilCommitted(20, partition);
    await testBed.end();
  });

  it('keep no order by none, and never run twice at once', async () => {
    const keys = await Keys.of(['a', 'a', 'a']);
    await keys.start({ processing: { by: 'none', maxConcurrency: 8 } });
    await keys.testBed.until(() => keys.running.length === 3);
    await keys.endAll();
    await keys.testBed.untilCommitted(3);
    await keys.testBed.end();
  });

  it('commit the contiguous watermark, with the completed records beyond it as metadata', async () => {
    const keys = await Keys.of(['a', 'b', 'c', 'd']);
    await keys.start();
    await keys.testBed.until(() => keys.running.length === 4);
    await keys.end(1);
    await keys.end(3);
    await keys.testBed.runtime.advance(100);
    expect(await keys.testBed.commitOf()).toMatchObject({
      offset: 0,
      metadata: expect.stringMatching(/^eb1 /),
    });
    await keys.end(0);
    await keys.testBed.untilCommitted(2);
    await keys.end(2);
    await keys.testBed.untilCommitted(4);
    expect((await keys.testBed.commitOf())?.metadata ?? '').toBe('');
    await keys.testBed.end();
  });

  it('keep their order without promises if handlers return at once', async () => {
    const keys = await Keys.of(
      upTo(200).map((index) => String(index % 7)),
      () => succeeded,
    );
    const { session } = await keys.start();
    await keys.testBed.untilCommitted(200);
    expect(keys.begun).toEqual(upTo(200));
    expect(session.counts).toMatchObject({ succeeded: 200, inFlight: 0 });
    await keys.testBed.end();
  });

  it('commit a slice at a time with MANUAL, and the rest when it is done', async () => {
    const keys = await Keys.of(upTo(20).map(String));
    const processing = { by: 'key', maxConcurrency: 7 } as const;
    await keys.start({ ackMode: 'MANUAL', maxPollRecords: 5, processing });
    await keys.testBed.until(() => keys.running.length === 7);
    for (const offset of upTo(4)) await keys.end(offset);
    await keys.testBed.runtime.advance(1_000);
    expect(await keys.testBed.committed()).toBeUndefined();
    await keys.end(4);
    await keys.testBed.untilCommitted(5);
    // If nothing more can begin, completed records are committed at once.
    for (const offset of upTo(11)) await keys.end(5 + offset);
    await keys.end(17);
    await keys.end(16);
    await keys.testBed.untilCommitted(18);
    await keys.endAll();
    await keys.testBed.untilCommitted(20);
    await keys.testBed.end();
  });

  it('commit with MANUAL while a record waits, or has another of its key behind it', async () => {
    const keys = await Keys.of(['bad', 'bad', ...upTo(8).map(String)], ({ record }) => {
      return record.offset === 0 ? { kind: 'handed-back', delayMs: 600_000 } : undefined;
    });
    await keys.start({ ackMode: 'MANUAL', maxPollRecords: 50 });
    await keys.testBed.until(() => keys.running.length === 8);
    for (const offset of [2, 3]) await keys.end(offset);
    await keys.testBed.runtime.advance(100);
    expect(await keys.doneBeyondGap()).toEqual([2, 3]);
    await keys.endAll();
    await keys.testBed.runtime.advance(100);
    expect(await keys.doneBeyondGap()).toEqual(upTo(8, 2));
    await keys.testBed.end();
  });

  it('are not committed one by one with MANUAL while others of their key wait', async () => {
    const stored: number[] = [];
    const keys = await Keys.of(upTo(12).map(() => 'one'));
    const settings = { ackMode: 'MANUAL', maxPollRecords: 5 } as const;
    await keys.start(settings, { onCommit: (offset) => stored.push(offset) });
    for (const offset of upTo(12)) {
      await keys.testBed.until(() => keys.running.length === 1);
      await keys.end(offset);
      await keys.testBed.runtime.advance(100);
    }
    expect(stored).toEqual([5, 10, 11, 12]);
    await keys.testBed.end();
  });
});

describe('a record by key that fails', () => {
  it('blocks its key for its backoff, while the others go on', async () => {
    let failures = 2;
    const at: number[] = [];
    const keys = await Keys.of(['bad', 'a', 'bad', 'b', 'a'], ({ record }) => {
      if (record.offset !== 0) return succeeded;
      at.push(keys.testBed.runtime.monotonic());
      return failures-- > 0 ? failed({ delayMs: 5_000 }) : succeeded;
    });
    const { session } = await keys.start();
    await keys.testBed.until(() => keys.begun.length === 4);
    expect(keys.begun).toEqual([0, 1, 3, 4]);
    await keys.testBed.until(() => keys.begun.length === 7);
    await keys.testBed.untilCommitted(5);
    expect(keys.begun).toEqual([0, 1, 3, 4, 0, 0, 2]);
    expect(at.slice(1).map((time, index) => time - at[index]!)).toEqual([5_000, 5_000]);
    expect(session.counts).toMatchObject({ received: 7, failed: 2, succeeded: 5, inFlight: 0 });
    await keys.testBed.end();
  });

  it('is redelivered with its history, after a longer backoff each time', async () => {
    const seen: object[] = [];
    const at: number[] = [];
    const keys = await Keys.of(['a'], ({ history: { redeliveries, failures, calls } }) => {
      seen.push({ redeliveries, failures, calls });
      at.push(keys.testBed.runtime.monotonic());
      return seen.length < 3 ? failed({ attempts: 2 }) : seen.length < 4 ? handedBack : succeeded;
    });
    await keys.start();
    await keys.testBed.untilCommitted(1);
    expect(seen).toEqual([
      { redeliveries: 0, failures: 0, calls: 0 },
      { redeliveries: 1, failures: 1, calls: 2 },
      { redeliveries: 2, failures: 2, calls: 4 },
      { redeliveries: 3, failures: 2, calls: 4 },
    ]);
    expect(at[3]! - at[2]!).toBeGreaterThan(at[1]! - at[0]!);
    await keys.testBed.end();
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('escaped');
      },
    ],
    ['gives nothing', () => 'nothing' as unknown as Outcome],
    ['rejects', () => Promise.reject(new Error('later'))],
  ])('counts as failed if it %s', async (_, answer) => {
    let calls = 0;
    const keys = await Keys.of(['a', 'b'], ({ record }) => {
      if (record.offset === 0 && calls++ === 0) return answer();
      return succeeded;
    });
    const { session } = await keys.start();
    await keys.testBed.untilCommitted(2);
    expect(session.counts).toMatchObject({ failed: 1, succeeded: 2, inFlight: 0 });
    await keys.testBed.end();
  });

  it('keeps its wait over a pause and a resume, and completed records are not redelivered', async () => {
    const at: number[] = [];
    const keys = await Keys.of(['bad', 'a', 'b'], ({ record }) => {
      if (record.offset !== 0) return succeeded;
      at.push(keys.testBed.runtime.monotonic());
      return at.length === 1 ? failed({ delayMs: 20_000 }) : succeeded;
    });
    const { session } = await keys.start();
    await keys.testBed.until(() => keys.begun.length === 3);
    await keys.testBed.done(session.pause('operator'));
    expect(session.counts).toMatchObject({ inFlight: 0, handedBack: 1 });
    await keys.testBed.runtime.advance(1_000);
    session.resume('operator');
    await keys.testBed.until(() => keys.begun.length === 4);
    await keys.testBed.untilCommitted(3);
    expect(keys.begun).toEqual([0, 1, 2, 0]);
    expect(at[1]! - at[0]!).toBeGreaterThanOrEqual(20_000);
    await keys.testBed.end();
  });

  it('waits no longer than the pause if its handler asked for no delay', async () => {
    const gate = new Deferred<Outcome>();
    let calls = 0;
    const keys = await Keys.of(['a'], () => (calls++ === 0 ? gate.promise : succeeded));
    const { session } = await keys.start();
    await keys.testBed.until(() => calls === 1);
    await keys.testBed.done(session.pause('circuit'));
    gate.resolve(handedBack);
    await keys.testBed.runtime.settle();
    session.resume('circuit');
    await keys.testBed.runtime.advance(100);
    expect(calls).toBe(2);
    await keys.testBed.untilCommitted(1);
    await keys.testBed.end();
  });

  it('pauses its partition if it waits for a decision, the lowest offset first', async () => {
    const keys = await Keys.of(['a', 'b', 'c', 'a'], ({ record, history: { decision } }) => {
      if (record.offset < 2) return decision ? succeeded : failed({ reason: 'awaiting-decision' });
      return undefined;
    });
    const { session } = await keys.start();
    await keys.testBed.until(() => session.status.partitionPauses.length > 0);
    const partition = { topic: TOPIC, partition: 0 };
    for (const offset of [0, 1]) {
      await keys.testBed.until(() => session.status.partitionPauses.length > 0);
      expect(session.status.partitionPauses).toMatchObject([
        { reasons: ['strict'], undecidedOffset: offset },
      ]);
      session.decide(partition, 'skip');
    }
    await keys.testBed.until(() => keys.running.length > 0);
    while ((await keys.testBed.committed()) !== 4) {
      await keys.endAll();
      await keys.testBed.runtime.advance(100);
    }
    expect(reconciles(session.counts)).toBe(true);
    await keys.testBed.end();
  });
});

describe('a record that waits while others go on', () => {
  const talk = ({ log }: SessionUnderTest): readonly unknown[] =>
    log
      .filter(({ message }) => message.includes('another try'))
      .map(({ level, context }) => [level, context['offset'] ?? context['afterMs']]);

  it.each(['key', 'none'] as const)(
    'is shown at its partition until it is done, whatever its attempts: by %s',
    async (by) => {
      let isHealed = false;
      const keys = new Keys(await ConsumingTestBed.of(1), ({ record }) => {
        return isHealed || record.offset === 2 ? succeeded : failed();
      });
      const member = await keys.start({ processing: { by, maxConcurrency: 8 } });
      const { session } = member;
      const told = jest.fn();
      session.onStatus(told);
      await keys.testBed.writeKeys(['a', 'b', 'c']);
      await keys.testBed.until(() => keys.begun.length === 3);
      const waits = { topic: TOPIC, partition: 0, reasons: ['backoff'], error: new Error('no') };
      expect(session.status.partitionPauses).toEqual([waits]);
      await keys.testBed.runtime.advance(60_000);
      expect(session.counts.failed).toBeGreaterThan(10);
      expect(session.status.partitionPauses).toEqual([waits]);
      expect(told).toHaveBeenCalledTimes(1);
      isHealed = true;
      await keys.testBed.untilCommitted(3);
      expect(session.status.partitionPauses).toEqual([]);
      expect(told).toHaveBeenCalledTimes(2);
      expect(talk(member)).toEqual([
        ['warn', 0],
        ['info', expect.any(Number)],
      ]);
      await keys.testBed.end();
    },
  );

  it('is logged without the message of its handler, which may quote it', async () => {
    const keys = await Keys.of(['a'], () => failed({ error: new TypeError('secret') }));
    const member = await keys.start();
    await keys.testBed.until(() => talk(member).length > 0);
    expect(JSON.stringify(member.log)).not.toContain('secret');
    expect(member.log.at(-1)?.context).toMatchObject({ partition: 't-0', error: 'TypeError' });
    await keys.testBed.end();
  });

  it('is shown as a delay if it was handed back, without a warning', async () => {
    const keys = await Keys.of(['a', 'b'], ({ record, history: { redeliveries } }) => {
      return record.offset + redeliveries > 0
        ? succeeded
        : { kind: 'handed-back', delayMs: 600_000 };
    });
    const member = await keys.start();
    await keys.testBed.until(() => keys.begun.length === 2);
    const { partitionPauses } = member.session.status;
    expect(partitionPauses).toEqual([{ topic: TOPIC, partition: 0, reasons: ['delay'] }]);
    await keys.testBed.runtime.advance(600_000);
    await keys.testBed.untilCommitted(2);
    expect(member.session.status.partitionPauses).toEqual([]);
    expect(talk(member)).toEqual([]);
    await keys.testBed.end();
  });

  it('is one of many: the partition shows the error of the lowest one', async () => {
    const keys = await Keys.of(['a', 'b', 'c'], ({ record: { offset } }) => {
      if (offset === 0) return { kind: 'handed-back', delayMs: 600_000 };
      return failed({ error: new Error(`no ${offset}`), delayMs: 600_000 });
    });
    const { session } = await keys.start();
    await keys.testBed.until(() => keys.begun.length === 3);
    expect(session.status.partitionPauses).toMatchObject([
      { reasons: ['delay', 'backoff'], error: { message: 'no 1' } },
    ]);
    await keys.testBed.end();
  });

  it('is shown together with the backpressure of its partition', async () => {
    const keys = await Keys.of(
      upTo(300).map(() => 'bad'),
      () => failed({ delayMs: 600_000 }),
    );
    const { session } = await keys.start({ maxPollRecords: 5 });
    await keys.testBed.until(() => session.status.partitionPauses.length > 0);
    await keys.testBed.runtime.advance(1_000);
    expect(session.status.partitionPauses).toMatchObject([
      { reasons: ['backoff', 'backpressure'] },
    ]);
    await keys.testBed.end();
  });

  it('is not shown while a pause has given it back, and is shown when it is read again', async () => {
    const keys = await Keys.of(['a', 'b'], ({ record }) => {
      return record.offset === 0 ? failed({ delayMs: 600_000 }) : succeeded;
    });
    const member = await keys.start();
    const { session } = member;
    await keys.testBed.until(() => keys.begun.length === 2);
    await keys.testBed.done(session.pause('operator'));
    expect(session.status.partitionPauses).toEqual([]);
    session.resume('operator');
    await keys.testBed.until(() => session.status.partitionPauses.length > 0);
    expect(session.status.partitionPauses).toMatchObject([
      { reasons: ['backoff'], error: { message: 'no' } },
    ]);
    expect(keys.begun).toEqual([0, 1]);
    expect(talk(member).map((line) => (line as string[])[0])).toEqual(['warn', 'info', 'warn']);
    await keys.testBed.end();
  });

  it('ends with its assignment', async () => {
    const keys = await Keys.of(['a'], () => failed({ delayMs: 600_000 }));
    const member = await keys.start();
    await keys.testBed.until(() => talk(member).length > 0);
    await keys.testBed.done(member.session.close());
    expect(talk(member)).toEqual([
      ['warn', 0],
      ['info', expect.any(Number)],
    ]);
    expect(member.session.status.partitionPauses).toEqual([]);
    await keys.testBed.end();
    expect(keys.testBed.runtime.pendingTimers).toBe(0);
  });

  it('is not reported at all if every record succeeds', async () => {
    const keys = new Keys(await ConsumingTestBed.of(1), () => succeeded);
    const { session } = await keys.start();
    const told = jest.fn();
    session.onStatus(told);
    await keys.testBed.writeKeys(upTo(200).map(String));
    await keys.testBed.untilCommitted(200);
    expect(told).not.toHaveBeenCalled();
    await keys.testBed.end();
  });
});

describe('a partition by key', () => {
  it('stops fetching while one key blocks many of its records', async () => {
    const keys = await Keys.of(upTo(300).map(() => 'one'));
    const { session } = await keys.start({ maxPollRecords: 5 });
    await keys.testBed.until(() => keys.running.length === 1);
    await keys.testBed.runtime.advance(1_000);
    expect(session.status.partitionPauses).toMatchObject([{ reasons: ['backpressure'] }]);
    expect(session.counts.inFlight).toBeLessThanOrEqual(1 + 2 * 8 + 5);
    while ((await keys.testBed.committed()) !== 300) {
      await keys.endAll();
      await keys.testBed.runtime.advance(20);
    }
    expect(keys.begun).toEqual(upTo(300));
    await keys.testBed.end();
  });

  it('lets running handlers finish in a pause, gives back the rest, and skips none', async () => {
    const keys = await Keys.of(['a', 'b', 'a', 'c', 'b', 'd']);
    const { session } = await keys.start({ processing: { by: 'key', maxConcurrency: 2 } });
    await keys.testBed.until(() => keys.running.length === 2);
    await keys.testBed.done(session.pause('operator'));
    expect(keys.running).toEqual([0, 1]);
    await keys.end(1);
    session.resume('operator');
    await keys.testBed.runtime.advance(500);
    // The key of the running handler stays blocked, whatever came between.
    expect(new Set(keys.running)).toEqual(new Set([0, 3]));
    while ((await keys.testBed.committed()) !== 6) {
      await keys.endAll();
      await keys.testBed.runtime.advance(50);
    }
    expect(keys.begun.toSorted((one, other) => one - other)).toEqual(upTo(6));
    await keys.testBed.end();
  });

  it('drains all running handlers, and commits their records', async () => {
    const keys = await Keys.of(['a', 'b', 'c']);
    const { session } = await keys.start();
    await keys.testBed.until(() => keys.running.length === 3);
    const draining = session.close({ drainMs: 10_000 });
    await keys.end(2);
    await keys.end(0);
    await keys.testBed.runtime.advance(1_000);
    await keys.end(1);
    expect(await keys.testBed.done(draining)).toEqual({ complete: true, abandoned: [] });
    expect(await keys.testBed.committed()).toBe(3);
    await keys.testBed.end();
  });

  it('commits nothing of handlers that end after its revocation', async () => {
    const keys = await Keys.of(['a', 'b']);
    const { session } = await keys.start({ rebalanceDrainTimeoutMs: 0 });
    await keys.testBed.until(() => keys.running.length === 2);
    await keys.end(1);
    await keys.testBed.done(session.close());
    await keys.end(0);
    expect(await keys.testBed.committed()).toBe(0);
    expect(session.counts).toMatchObject({ succeeded: 2, inFlight: 0 });
    const next = new Keys(keys.testBed, () => succeeded);
    await next.start();
    await keys.testBed.untilCommitted(2);
    // The record that was completed beyond the gap is not handled again.
    expect(next.begun).toEqual([0]);
    await keys.testBed.end();
  });
});

describe('an internal error in a partition by key', () => {
  afterEach(() => jest.restoreAllMocks());

  const breakOnce = (): never => {
    throw new Error('a mistake of our own');
  };

  it.each<[string, () => Outcome | Promise<Outcome>]>([
    ['at once', () => succeeded],
    ['later', async () => succeeded],
  ])('blocks no key for ever, for a record that was handled %s', async (_, answer) => {
    const keys = await Keys.of(['a', 'a', 'b'], answer);
    jest.spyOn(OffsetTracker.prototype, 'complete').mockImplementationOnce(breakOnce);
    const { session } = await keys.start();
    await keys.testBed.untilCommitted(3);
    expect(keys.begun.filter((offset) => offset === 0)).toEqual([0, 0]);
    expect(session.counts.inFlight).toBe(0);
    await keys.testBed.end();
  });

  it('lets no record overtake a running handler of its key', async () => {
    const keys = await Keys.of(['a', 'b', 'a', 'b']);
    const { session } = await keys.start();
    await keys.testBed.until(() => keys.running.length === 2);
    jest.spyOn(OffsetTracker.prototype, 'complete').mockImplementationOnce(breakOnce);
    await keys.end(0);
    await keys.testBed.until(() => keys.begun.length === 3);
    await keys.testBed.runtime.advance(5_000);
    expect(keys.begun).toEqual([0, 1, 0]);
    await keys.end(1);
    expect(keys.begun).toEqual([0, 1, 0, 3]);
    await keys.endAll();
    await keys.testBed.untilCommitted(4);
    expect(reconciles(session.counts)).toBe(true);
    await keys.testBed.end();
  });

  it.each(['MANUAL', 'MANUAL_IMMEDIATE'] as const)(
    'is survived if it prevents a commit: strict, by %s',
    async (ackMode) => {
      const keys = await Keys.of(['a', 'a', 'b'], () => succeeded);
      jest.spyOn(PartitionProgress.prototype, 'commitPoint').mockImplementationOnce(breakOnce);
      await keys.start({ strictCommits: true, ackMode });
      await keys.testBed.untilCommitted(3);
      await keys.testBed.end();
    },
  );

  it('does no harm while no handler runs', async () => {
    const keys = await Keys.of(['a'], ({ history: { redeliveries } }) =>
      redeliveries > 0 ? succeeded : failed({ delayMs: 5_000 }),
    );
    await keys.start();
    await keys.testBed.until(() => keys.begun.length === 1);
    await keys.testBed.runtime.advance(1_000);
    jest.spyOn(PartitionProgress.prototype, 'commitPoint').mockImplementation(breakOnce);
    await keys.testBed.runtime.advance(10_000);
    jest.restoreAllMocks();
    await keys.testBed.untilCommitted(1);
    await keys.testBed.end();
  });
});

describe('handlers that outlive their assignment', () => {
  /** Loses an assignment while a record is in flight, and gets the next one. */
  async function lostAtWork(
    settings: Partial<ConsumingSettings> = {},
  ): Promise<{ keys: Keys; regain: () => Promise<void>; runsOfFirst: () => number }> {
    const keys = await Keys.of(['a'], ({ record }) =>
      record.offset === 0 ? undefined : succeeded,
    );
    const { testBed } = keys;
    const { session, log } = await keys.start(settings);
    await testBed.until(() => keys.begun.length === 1);
    const gone = testBed.broker.faults.dropHeartbeats({ groupId: 'g' });
    await testBed.until(() => log.some(({ message }) => message.startsWith('Partitions lost')));
    const regain = async (): Promise<void> => {
      gone.lift();
      await testBed.writeKeys(['b', 'a', 'c']);
      await testBed.until(() => session.status.assignment.length === 1);
      await testBed.runtime.advance(5_000);
    };
    const runsOfFirst = (): number => keys.begun.filter((offset) => offset === 0).length;
    return { keys, regain, runsOfFirst };
  }

  afterEach(() => jest.restoreAllMocks());

  it('block their key for the next assignment, and only their key', async () => {
    const { keys, regain, runsOfFirst } = await lostAtWork();
    await regain();
    expect(keys.begun).toEqual([0, 1, 3]);
    await keys.end(0);
    await keys.testBed.until(() => runsOfFirst() === 2);
    await keys.endAll();
    await keys.testBed.untilCommitted(4);
    expect(keys.begun).toEqual([0, 1, 3, 0, 2]);
    await keys.testBed.end();
  });

  it('block their key over an internal error, too', async () => {
    const { keys, regain, runsOfFirst } = await lostAtWork();
    const complete = jest.spyOn(OffsetTracker.prototype, 'complete');
    complete.mockImplementationOnce(() => {
      throw new Error('a mistake of our own');
    });
    await regain();
    expect(complete).toHaveBeenCalled();
    expect(runsOfFirst()).toBe(1);
    await keys.end(0);
    await keys.testBed.until(() => runsOfFirst() === 2);
    await keys.endAll();
    await keys.testBed.untilCommitted(4);
    await keys.testBed.end();
  });

  it('do not prevent commits with MANUAL of other records', async () => {
    const { keys, regain } = await lostAtWork({ ackMode: 'MANUAL', maxPollRecords: 50 });
    await regain();
    expect(await keys.doneBeyondGap()).toEqual([1, 3]);
    await keys.endAll();
    await keys.testBed.end();
  });
});
