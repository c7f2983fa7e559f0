import type { RecordDecision } from '../../model/outcomes/decision.js';
import type { DeliveryHistory } from '../../model/outcomes/delivery-history.js';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { aFailure, aRememberedFailure } from '../../model/outcomes/outcomes.spec-support.js';
import { ConsumingTestBed, TOPIC } from '../session/consuming-test-bed.spec-support.js';

const PARTITION = { topic: TOPIC, partition: 0 };
const error = new Error('exhausted');

const awaiting = (): Outcome =>
  aFailure({ reason: 'awaiting-decision', error, report: aRememberedFailure() });

/** Starts with three records. Only an operator lets the second one pass. */
async function stuckAtSecond(onDecided: (decision: RecordDecision) => Outcome = () => succeeded) {
  const testBed = await ConsumingTestBed.of(2);
  await testBed.write(3);
  const deliveries: Pick<DeliveryHistory, 'decision' | 'redeliveries'>[] = [];
  let isMended = false;
  const { session, offsets } = await testBed.started(
    ({ record, history: { decision, redeliveries } }) => {
      if (record.partition === 1 || record.offset !== 1) return succeeded;
      deliveries.push({ decision, redeliveries });
      if (decision) return onDecided(decision);
      return isMended ? succeeded : awaiting();
    },
  );
  await testBed.until(() => session.status.partitionPauses.length > 0);
  return { testBed, session, offsets, deliveries, mend: () => void (isMended = true) };
}

describe('a partition whose record waits for a decision', () => {
  it('waits without a time limit and shows why, while the others go on', async () => {
    const { testBed, session, offsets } = await stuckAtSecond();
    await testBed.runtime.advance(600_000);
    await testBed.write(1, 1);
    await testBed.until(() => offsets(1).length === 1);
    expect(session.status.partitionPauses).toEqual([
      { ...PARTITION, reasons: ['strict'], error, undecidedOffset: 1 },
    ]);
    expect([offsets(0), await testBed.committed()]).toEqual([[0, 1], 1]);
    await testBed.end();
  });

  it('is not resumed by a resume of the session', async () => {
    const { testBed, session, offsets } = await stuckAtSecond();
    await testBed.done(session.pause('operator'));
    session.resume('operator');
    await testBed.runtime.advance(60_000);
    expect(offsets(0)).toEqual([0, 1]);
    expect(session.status.partitionPauses).toMatchObject([{ reasons: ['strict'] }]);
    await testBed.end();
  });

  it.each(['dead-letter', 'skip'] as const)(
    'hands the record out with the decision "%s", and goes on',
    async (decision) => {
      const { testBed, session, offsets, deliveries } = await stuckAtSecond();
      expect(session.decide(PARTITION, decision)).toBe(true);
      await testBed.untilCommitted(3);
      expect(deliveries).toEqual([
        { decision: undefined, redeliveries: 0 },
        { decision, redeliveries: 1 },
      ]);
      expect([offsets(0), session.status.partitionPauses]).toEqual([[0, 1, 1, 2], []]);
      await testBed.end();
    },
  );

  it('calls the handler again on "retry", and waits again if it fails again', async () => {
    const { testBed, session, deliveries, mend } = await stuckAtSecond();
    expect(session.decide(PARTITION, 'retry')).toBe(true);
    await testBed.until(() => deliveries.length === 2 && session.status.partitionPauses.length > 0);
    mend();
    expect(session.decide(PARTITION, 'retry')).toBe(true);
    await testBed.untilCommitted(3);
    expect(deliveries.map(({ decision }) => decision)).toEqual([undefined, undefined, undefined]);
    await testBed.end();
  });

  it('keeps the decision until it was carried out', async () => {
    const answers: Outcome[] = [
      { kind: 'failed', reason: 'redeliver', attempts: 1, error },
      { kind: 'handed-back' },
    ];
    const { testBed, session, deliveries } = await stuckAtSecond(
      () => answers.shift() ?? succeeded,
    );
    session.decide(PARTITION, 'dead-letter');
    await testBed.untilCommitted(3);
    expect(deliveries.slice(1).map(({ decision }) => decision)).toEqual(
      Array.from({ length: 3 }, () => 'dead-letter'),
    );
    await testBed.end();
  });

  it('replaces the decision by a later one', async () => {
    const { testBed, session, deliveries, mend } = await stuckAtSecond(awaiting);
    session.decide(PARTITION, 'dead-letter');
    await testBed.until(() => deliveries.length === 2 && session.status.partitionPauses.length > 0);
    mend();
    session.decide(PARTITION, 'retry');
    await testBed.untilCommitted(3);
    expect(deliveries.map(({ decision }) => decision)).toEqual([
      undefined,
      'dead-letter',
      undefined,
    ]);
    await testBed.end();
  });

  it('applies a decision with an offset to that record only', async () => {
    const { testBed, session, offsets } = await stuckAtSecond();
    expect(session.decide({ ...PARTITION, offset: 0 }, 'skip')).toBe(false);
    expect(session.decide({ ...PARTITION, offset: 2 }, 'skip')).toBe(false);
    expect(session.decide({ ...PARTITION, offset: 1 }, 'skip')).toBe(true);
    expect(session.decide({ ...PARTITION, offset: 1 }, 'skip')).toBe(false);
    await testBed.untilCommitted(3);
    expect(offsets(0)).toEqual([0, 1, 1, 2]);
    await testBed.end();
  });

  it('stays paused after the decision if it is paused for another reason', async () => {
    const { testBed, session, offsets } = await stuckAtSecond();
    await testBed.done(session.pause('operator'));
    expect(session.decide(PARTITION, 'skip')).toBe(true);
    await testBed.runtime.advance(10_000);
    expect(offsets(0)).toEqual([0, 1]);
    session.resume('operator');
    await testBed.untilCommitted(3);
    await testBed.end();
  });

  it('ignores a decision if no record waits', async () => {
    const { testBed, session } = await stuckAtSecond();
    expect(session.decide({ topic: TOPIC, partition: 1 }, 'skip')).toBe(false);
    expect(session.decide({ topic: TOPIC, partition: 7 }, 'skip')).toBe(false);
    session.decide(PARTITION, 'skip');
    expect(session.decide(PARTITION, 'skip')).toBe(false);
    await testBed.done(session.close());
    expect(session.decide(PARTITION, 'skip')).toBe(false);
  });

  it('waits again at its next owner', async () => {
    const { testBed, session } = await stuckAtSecond();
    await testBed.done(session.close());
    const next = await testBed.started(awaiting);
    await testBed.until(() => next.session.status.partitionPauses.length > 0);
    expect(next.offsets(0)).toEqual([1]);
    expect(next.session.decide(PARTITION, 'skip')).toBe(true);
    await testBed.end();
  });
});

describe('a partition whose record is redelivered after a backoff', () => {
  const backingOff = async (
    outcome: Outcome = {
      kind: 'failed',
      reason: 'redeliver',
      attempts: 1,
      error,
      delayMs: 600_000,
    },
  ) => {
    const testBed = await ConsumingTestBed.of(1);
    await testBed.write(3);
    const decisions: (RecordDecision | undefined)[] = [];
    const { session, offsets } = await testBed.started(({ record, history: { decision } }) => {
      if (record.offset !== 1) return succeeded;
      decisions.push(decision);
      return decision ? succeeded : outcome;
    });
    await testBed.until(() => session.status.partitionPauses.length > 0);
    return { testBed, session, offsets, decisions };
  };

  it.each(['dead-letter', 'skip'] as const)(
    'hands the record out at once with the decision "%s", if the offset is named',
    async (decision) => {
      const { testBed, session, offsets, decisions } = await backingOff();
      expect(session.decide({ ...PARTITION, offset: 1 }, decision)).toBe(true);
      expect(session.status.partitionPauses).toEqual([]);
      await testBed.untilCommitted(3);
      expect([decisions, offsets(0)]).toEqual([
        [undefined, decision],
        [0, 1, 1, 2],
      ]);
      await testBed.end();
    },
  );

  it('redelivers the record at once on "retry"', async () => {
    const { testBed, session, decisions } = await backingOff();
    expect(session.decide({ ...PARTITION, offset: 1 }, 'retry')).toBe(true);
    await testBed.until(() => decisions.length === 2);
    expect(decisions).toEqual([undefined, undefined]);
    await testBed.end();
  });

  it('ignores a decision without the right offset', async () => {
    const { testBed, session, offsets } = await backingOff();
    expect(session.decide(PARTITION, 'skip')).toBe(false);
    for (const offset of [0, 2])
      expect(session.decide({ ...PARTITION, offset }, 'skip')).toBe(false);
    await testBed.runtime.advance(60_000);
    expect(offsets(0)).toEqual([0, 1]);
    await testBed.end();
  });

  it('accepts a decision about a record whose handler was not called', async () => {
    const outcome: Outcome = {
      kind: 'failed',
      reason: 'redeliver',
      error,
      attempts: 0,
      delayMs: 600_000,
    };
    const { testBed, session } = await backingOff(outcome);
    expect(session.decide({ ...PARTITION, offset: 1 }, 'skip')).toBe(true);
    await testBed.untilCommitted(3);
    await testBed.end();
  });

  it('keeps the decision while the session is paused, and the pause too', async () => {
    const { testBed, session, offsets, decisions } = await backingOff();
    await testBed.done(session.pause('circuit'));
    await testBed.runtime.advance(600_000);
    expect(session.decide({ ...PARTITION, offset: 1 }, 'skip')).toBe(true);
    await testBed.runtime.advance(60_000);
    expect(offsets(0)).toEqual([0, 1]);
    session.resume('circuit');
    await testBed.untilCommitted(3);
    expect(decisions).toEqual([undefined, 'skip']);
    await testBed.end();
  });

  it('ignores a decision if it is only paused before its next record', async () => {
    const testBed = await ConsumingTestBed.of(1);
    const { session, offsets } = await testBed.started(() => succeeded);
    await testBed.done(session.pause('operator'));
    await testBed.write(1);
    await testBed.runtime.advance(1_000);
    expect(session.decide({ ...PARTITION, offset: 0 }, 'skip')).toBe(false);
    session.resume('operator');
    await testBed.untilCommitted(1);
    expect(offsets(0)).toEqual([0]);
    await testBed.end();
  });

  it('ignores a decision while the handler has the record', async () => {
    const testBed = await ConsumingTestBed.of(1);
    await testBed.write(1);
    let calls = 0;
    const { session } = await testBed.started(async ({ history: { decision } }) => {
      if (++calls > 1 && !decision)
        await new Promise<void>((resolve) => testBed.runtime.setTimer(resolve, 5_000));
      return decision
        ? succeeded
        : { kind: 'failed', reason: 'redeliver', attempts: 1, error, delayMs: 1_000 };
    });
    await testBed.until(() => calls === 2);
    await Promise.race([session.pause('circuit'), testBed.runtime.advance(100)]);
    expect(session.decide({ ...PARTITION, offset: 0 }, 'skip')).toBe(false);
    await testBed.runtime.advance(6_000);
    expect(session.decide({ ...PARTITION, offset: 0 }, 'skip')).toBe(true);
    session.resume('circuit');
    await testBed.untilCommitted(1);
    await testBed.end();
  });
});
