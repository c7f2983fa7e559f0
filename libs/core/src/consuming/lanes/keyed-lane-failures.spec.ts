import { Deferred } from '@nest-event-bus/broker/runtime';
import { handedBack, type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import {
  type SessionUnderTest,
  ConsumingTestBed,
  reconciles,
  TOPIC,
  upTo,
} from '../session/consuming-test-bed.spec-support.js';
import { Keys, failed } from './keyed-lane.spec-support.js';

describe("a failed record with processing.by 'key'", () => {
  it('blocks its key for its backoff, while other keys continue', async () => {
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

  it('is redelivered with its delivery history, after a longer backoff each time', async () => {
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
    ['returns no outcome', () => 'nothing' as unknown as Outcome],
    ['rejects', () => Promise.reject(new Error('later'))],
  ])('is redelivered as failed if its handler %s', async (_, answer) => {
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

  it('waits its whole backoff even if the session is paused and resumed meanwhile; completed records are not redelivered', async () => {
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

  it('is redelivered at the end of a pause if its handler handed it back without a delay', async () => {
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

  it('pauses its partition if it waits for a decision; the record with the lowest offset is decided first', async () => {
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

describe('a waiting record while other records of its partition continue', () => {
  const loggedLines = ({ log }: SessionUnderTest): readonly unknown[] =>
    log
      .filter(({ message }) => message.includes('another try'))
      .map(({ level, context }) => [level, context['offset'] ?? context['afterMs']]);

  it.each(['key', 'none'] as const)(
    "is in the session's partitionPauses until it is done, however often it fails, with processing.by '%s'",
    async (by) => {
      let isHealed = false;
      const keys = new Keys(await ConsumingTestBed.of(1), ({ record }) => {
        return isHealed || record.offset === 2 ? succeeded : failed();
      });
      const member = await keys.start({ processing: { by, maxConcurrency: 8 } });
      const { session } = member;
      const listener = jest.fn();
      session.onStatusChange(listener);
      await keys.testBed.writeKeys(['a', 'b', 'c']);
      await keys.testBed.until(() => keys.begun.length === 3);
      const waits = { topic: TOPIC, partition: 0, reasons: ['backoff'], error: new Error('no') };
      expect(session.status.partitionPauses).toEqual([waits]);
      await keys.testBed.runtime.advance(60_000);
      expect(session.counts.failed).toBeGreaterThan(10);
      expect(session.status.partitionPauses).toEqual([waits]);
      expect(listener).toHaveBeenCalledTimes(1);
      isHealed = true;
      await keys.testBed.untilCommitted(3);
      expect(session.status.partitionPauses).toEqual([]);
      expect(listener).toHaveBeenCalledTimes(2);
      expect(loggedLines(member)).toEqual([
        ['warn', 0],
        ['info', expect.any(Number)],
      ]);
      await keys.testBed.end();
    },
  );

  it('is logged without the error message of its handler, which may quote the record', async () => {
    const keys = await Keys.of(['a'], () => failed({ error: new TypeError('secret') }));
    const member = await keys.start();
    await keys.testBed.until(() => loggedLines(member).length > 0);
    expect(JSON.stringify(member.log)).not.toContain('secret');
    expect(member.log.at(-1)?.context).toMatchObject({ partition: 't-0', error: 'TypeError' });
    await keys.testBed.end();
  });

  it('is shown with the reason "delay" if it was handed back, and no warning is logged', async () => {
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
    expect(loggedLines(member)).toEqual([]);
    await keys.testBed.end();
  });

  it('is shown with the others of its partition: the error is that of the lowest failed offset', async () => {
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

  it('is not shown while a pause has handed it back, and is shown again when it is redelivered', async () => {
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
    expect(loggedLines(member).map((line) => (line as string[])[0])).toEqual([
      'warn',
      'info',
      'warn',
    ]);
    await keys.testBed.end();
  });

  it('is no longer shown when its assignment ends, and its end is logged', async () => {
    const keys = await Keys.of(['a'], () => failed({ delayMs: 600_000 }));
    const member = await keys.start();
    await keys.testBed.until(() => loggedLines(member).length > 0);
    await keys.testBed.done(member.session.close());
    expect(loggedLines(member)).toEqual([
      ['warn', 0],
      ['info', expect.any(Number)],
    ]);
    expect(member.session.status.partitionPauses).toEqual([]);
    await keys.testBed.end();
    expect(keys.testBed.runtime.pendingTimers).toBe(0);
  });

  it('is neither shown nor logged if every record succeeds', async () => {
    const keys = new Keys(await ConsumingTestBed.of(1), () => succeeded);
    const { session } = await keys.start();
    const listener = jest.fn();
    session.onStatusChange(listener);
    await keys.testBed.writeKeys(upTo(200).map(String));
    await keys.testBed.untilCommitted(200);
    expect(listener).not.toHaveBeenCalled();
    await keys.testBed.end();
  });
});
