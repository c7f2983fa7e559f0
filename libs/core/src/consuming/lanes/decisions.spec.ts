import type { RecordDecision } from '../../model/outcomes/decision.js';
import type { DeliveryHistory } from '../../model/outcomes/delivery-history.js';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { aFailure, aRememberedFailure } from '../../model/outcomes/outcomes.spec-support.js';
import { ConsumingTestBed, TOPIC } from '../session/consuming-test-bed.spec-support.js';

const PARTITION = { topic: TOPIC, partition: 0 };
const error = new Error('exhausted');

const awaiting = (): Outcome =>
  aFailure({ reason: 'awaiting-decision', error, report: aRememberedFailure() });

/** Three records, of which nobody but an operator lets the second pass. */
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
  it('waits for as long as it takes, and says for what; the others go on', async () => {
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

  it('is not opened by a resume of the session', async () => {
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

  it('calls the handler again on "retry"; one that fails again waits again', async () => {
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

  it('forgets the decision when somebody decides otherwise', async () => {
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

  it('with an offset decides about that record alone: who decides twice has skipped one', async () => {
    const { testBed, session, offsets } = await stuckAtSecond();
    expect(session.decide({ ...PARTITION, offset: 0 }, 'skip')).toBe(false);
    expect(session.decide({ ...PARTITION, offset: 2 }, 'skip')).toBe(false);
    expect(session.decide({ ...PARTITION, offset: 1 }, 'skip')).toBe(true);
    expect(session.decide({ ...PARTITION, offset: 1 }, 'skip')).toBe(false);
    await testBed.untilCommitted(3);
    expect(offsets(0)).toEqual([0, 1, 1, 2]);
    await testBed.end();
  });

  it('that is paused besides stays so when it is decided', async () => {
    const { testBed, session, offsets } = await stuckAtSecond();
    await testBed.done(session.pause('operator'));
    expect(session.decide(PARTITION, 'skip')).toBe(true);
    await testBed.runtime.advance(10_000);
    expect(offsets(0)).toEqual([0, 1]);
    session.resume('operator');
    await testBed.untilCommitted(3);
    await testBed.end();
  });

  it('is told from those that wait for nothing', async () => {
    const { testBed, session } = await stuckAtSecond();
    expect(session.decide({ topic: TOPIC, partition: 1 }, 'skip')).toBe(false);
    expect(session.decide({ topic: TOPIC, partition: 7 }, 'skip')).toBe(false);
    session.decide(PARTITION, 'skip');
    expect(session.decide(PARTITION, 'skip')).toBe(false);
    await testBed.done(session.close());
    expect(session.decide(PARTITION, 'skip')).toBe(false);
  });

  it('waits at its next owner anew', async () => {
    const { testBed, session } = await stuckAtSecond();
    await testBed.done(session.close());
    const next = await testBed.started(awaiting);
    await testBed.until(() => next.session.status.partitionPauses.length > 0);
    expect(next.offsets(0)).toEqual([1]);
    expect(next.session.decide(PARTITION, 'skip')).toBe(true);
    await testBed.end();
  });
});

describe('a partition whose record is tried again after a backoff', () => {
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
    'hands it out at once with the decision "%s", where that names it',
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

  it('tries it at once on "retry"', async () => {
    const { testBed, session, decisions } = await backingOff();
    expect(session.decide({ ...PARTITION, offset: 1 }, 'retry')).toBe(true);
    await testBed.until(() => decisions.length === 2);
    expect(decisions).toEqual([undefined, undefined]);
    await testBed.end();
  });

  it('passes over it by no decision that does not name it, and over no other one', async () => {
    const { testBed, session, offsets } = await backingOff();
    expect(session.decide(PARTITION, 'skip')).toBe(false);
    for (const offset of [0, 2])
      expect(session.decide({ ...PARTITION, offset }, 'skip')).toBe(false);
    await testBed.runtime.advance(60_000);
    expect(offsets(0)).toEqual([0, 1]);
    await testBed.end();
  });

  it('can be decided about where no call was made, too', async () => {
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

  it('is told from one that is merely paused before its next record', async () => {
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

  it('is not decided about while its handler has the record: what that says comes first', async () => {
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
