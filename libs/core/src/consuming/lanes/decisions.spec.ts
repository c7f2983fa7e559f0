import type { Delivery, RecordDecision } from '../../model/outcomes/delivery.js';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { IntakeWorld, TOPIC } from '../session/intake-world.spec-support.js';

const PARTITION = { topic: TOPIC, partition: 0 };
const error = new Error('exhausted');

/** Three records, of which nobody but an operator lets the second pass. */
async function stuckAtSecond(onDecided: (decision: RecordDecision) => Outcome = () => succeeded) {
  const world = await IntakeWorld.of(2);
  await world.write(3);
  const deliveries: Pick<Delivery, 'decision' | 'redeliveries'>[] = [];
  let isMended = false;
  const { intake, offsets } = await world.started(({ record, decision, redeliveries }) => {
    if (record.partition === 1 || record.offset !== 1) return succeeded;
    deliveries.push({ decision, redeliveries });
    if (decision) return onDecided(decision);
    return isMended ? succeeded : { kind: 'failed', error, until: 'decided' };
  });
  await world.until(() => intake.status.partitionPauses.length > 0);
  return { world, intake, offsets, deliveries, mend: () => void (isMended = true) };
}

describe('a partition whose record waits for a decision', () => {
  it('waits for as long as it takes, and says for what; the others go on', async () => {
    const { world, intake, offsets } = await stuckAtSecond();
    await world.runtime.advance(600_000);
    await world.write(1, 1);
    await world.until(() => offsets(1).length === 1);
    expect(intake.status.partitionPauses).toEqual([
      { ...PARTITION, reasons: ['strict'], error, undecidedOffset: 1 },
    ]);
    expect([offsets(0), await world.committed()]).toEqual([[0, 1], 1]);
    await world.end();
  });

  it('is not opened by a resume of the session', async () => {
    const { world, intake, offsets } = await stuckAtSecond();
    await world.done(intake.pause('operator'));
    intake.resume('operator');
    await world.runtime.advance(60_000);
    expect(offsets(0)).toEqual([0, 1]);
    expect(intake.status.partitionPauses).toMatchObject([{ reasons: ['strict'] }]);
    await world.end();
  });

  it.each(['dead-letter', 'skip'] as const)(
    'hands the record out with the decision "%s", and goes on',
    async (decision) => {
      const { world, intake, offsets, deliveries } = await stuckAtSecond();
      expect(intake.decide(PARTITION, decision)).toBe(true);
      await world.untilCommitted(3);
      expect(deliveries).toEqual([
        { decision: undefined, redeliveries: 0 },
        { decision, redeliveries: 1 },
      ]);
      expect([offsets(0), intake.status.partitionPauses]).toEqual([[0, 1, 1, 2], []]);
      await world.end();
    },
  );

  it('calls the handler again on "retry"; one that fails again waits again', async () => {
    const { world, intake, deliveries, mend } = await stuckAtSecond();
    expect(intake.decide(PARTITION, 'retry')).toBe(true);
    await world.until(() => deliveries.length === 2 && intake.status.partitionPauses.length > 0);
    mend();
    expect(intake.decide(PARTITION, 'retry')).toBe(true);
    await world.untilCommitted(3);
    expect(deliveries.map(({ decision }) => decision)).toEqual([undefined, undefined, undefined]);
    await world.end();
  });

  it('keeps the decision until it was carried out', async () => {
    const answers: Outcome[] = [{ kind: 'failed', error }, { kind: 'handed-back' }];
    const { world, intake, deliveries } = await stuckAtSecond(() => answers.shift() ?? succeeded);
    intake.decide(PARTITION, 'dead-letter');
    await world.untilCommitted(3);
    expect(deliveries.slice(1).map(({ decision }) => decision)).toEqual(
      Array.from({ length: 3 }, () => 'dead-letter'),
    );
    await world.end();
  });

  it('forgets the decision when somebody decides otherwise', async () => {
    const { world, intake, deliveries, mend } = await stuckAtSecond(() => ({
      kind: 'failed',
      error,
      until: 'decided',
    }));
    intake.decide(PARTITION, 'dead-letter');
    await world.until(() => deliveries.length === 2 && intake.status.partitionPauses.length > 0);
    mend();
    intake.decide(PARTITION, 'retry');
    await world.untilCommitted(3);
    expect(deliveries.map(({ decision }) => decision)).toEqual([
      undefined,
      'dead-letter',
      undefined,
    ]);
    await world.end();
  });

  it('with an offset decides about that record alone: who decides twice has skipped one', async () => {
    const { world, intake, offsets } = await stuckAtSecond();
    expect(intake.decide({ ...PARTITION, offset: 0 }, 'skip')).toBe(false);
    expect(intake.decide({ ...PARTITION, offset: 2 }, 'skip')).toBe(false);
    expect(intake.decide({ ...PARTITION, offset: 1 }, 'skip')).toBe(true);
    expect(intake.decide({ ...PARTITION, offset: 1 }, 'skip')).toBe(false);
    await world.untilCommitted(3);
    expect(offsets(0)).toEqual([0, 1, 1, 2]);
    await world.end();
  });

  it('that is paused besides stays so when it is decided', async () => {
    const { world, intake, offsets } = await stuckAtSecond();
    await world.done(intake.pause('operator'));
    expect(intake.decide(PARTITION, 'skip')).toBe(true);
    await world.runtime.advance(10_000);
    expect(offsets(0)).toEqual([0, 1]);
    intake.resume('operator');
    await world.untilCommitted(3);
    await world.end();
  });

  it('is told from those that wait for nothing', async () => {
    const { world, intake } = await stuckAtSecond();
    expect(intake.decide({ topic: TOPIC, partition: 1 }, 'skip')).toBe(false);
    expect(intake.decide({ topic: TOPIC, partition: 7 }, 'skip')).toBe(false);
    intake.decide(PARTITION, 'skip');
    expect(intake.decide(PARTITION, 'skip')).toBe(false);
    await world.done(intake.close());
    expect(intake.decide(PARTITION, 'skip')).toBe(false);
  });

  it('waits at its next owner anew', async () => {
    const { world, intake } = await stuckAtSecond();
    await world.done(intake.close());
    const next = await world.started(() => ({ kind: 'failed', error, until: 'decided' }));
    await world.until(() => next.intake.status.partitionPauses.length > 0);
    expect(next.offsets(0)).toEqual([1]);
    expect(next.intake.decide(PARTITION, 'skip')).toBe(true);
    await world.end();
  });
});

describe('a partition whose record is tried again after a backoff', () => {
  const backingOff = async (outcome: Outcome = { kind: 'failed', error, delayMs: 600_000 }) => {
    const world = await IntakeWorld.of(1);
    await world.write(3);
    const decisions: (RecordDecision | undefined)[] = [];
    const { intake, offsets } = await world.started(({ record, decision }) => {
      if (record.offset !== 1) return succeeded;
      decisions.push(decision);
      return decision ? succeeded : outcome;
    });
    await world.until(() => intake.status.partitionPauses.length > 0);
    return { world, intake, offsets, decisions };
  };

  it.each(['dead-letter', 'skip'] as const)(
    'hands it out at once with the decision "%s", where that names it',
    async (decision) => {
      const { world, intake, offsets, decisions } = await backingOff();
      expect(intake.decide({ ...PARTITION, offset: 1 }, decision)).toBe(true);
      expect(intake.status.partitionPauses).toEqual([]);
      await world.untilCommitted(3);
      expect([decisions, offsets(0)]).toEqual([
        [undefined, decision],
        [0, 1, 1, 2],
      ]);
      await world.end();
    },
  );

  it('tries it at once on "retry"', async () => {
    const { world, intake, decisions } = await backingOff();
    expect(intake.decide({ ...PARTITION, offset: 1 }, 'retry')).toBe(true);
    await world.until(() => decisions.length === 2);
    expect(decisions).toEqual([undefined, undefined]);
    await world.end();
  });

  it('passes over it by no decision that does not name it, and over no other one', async () => {
    const { world, intake, offsets } = await backingOff();
    expect(intake.decide(PARTITION, 'skip')).toBe(false);
    for (const offset of [0, 2])
      expect(intake.decide({ ...PARTITION, offset }, 'skip')).toBe(false);
    await world.runtime.advance(60_000);
    expect(offsets(0)).toEqual([0, 1]);
    await world.end();
  });

  it('can be decided about where no call was made, too', async () => {
    const outcome: Outcome = { kind: 'failed', error, attempts: 0, delayMs: 600_000 };
    const { world, intake } = await backingOff(outcome);
    expect(intake.decide({ ...PARTITION, offset: 1 }, 'skip')).toBe(true);
    await world.untilCommitted(3);
    await world.end();
  });

  it('keeps the decision while the session is paused, and the pause too', async () => {
    const { world, intake, offsets, decisions } = await backingOff();
    await world.done(intake.pause('circuit'));
    await world.runtime.advance(600_000);
    expect(intake.decide({ ...PARTITION, offset: 1 }, 'skip')).toBe(true);
    await world.runtime.advance(60_000);
    expect(offsets(0)).toEqual([0, 1]);
    intake.resume('circuit');
    await world.untilCommitted(3);
    expect(decisions).toEqual([undefined, 'skip']);
    await world.end();
  });

  it('is told from one that is merely paused before its next record', async () => {
    const world = await IntakeWorld.of(1);
    const { intake, offsets } = await world.started(() => succeeded);
    await world.done(intake.pause('operator'));
    await world.write(1);
    await world.runtime.advance(1_000);
    expect(intake.decide({ ...PARTITION, offset: 0 }, 'skip')).toBe(false);
    intake.resume('operator');
    await world.untilCommitted(1);
    expect(offsets(0)).toEqual([0]);
    await world.end();
  });

  it('is not decided about while its handler has the record: what that says comes first', async () => {
    const world = await IntakeWorld.of(1);
    await world.write(1);
    let calls = 0;
    const { intake } = await world.started(async ({ decision }) => {
      if (++calls > 1 && !decision)
        await new Promise<void>((resolve) => world.runtime.setTimer(resolve, 5_000));
      return decision ? succeeded : { kind: 'failed', error, delayMs: 1_000 };
    });
    await world.until(() => calls === 2);
    await Promise.race([intake.pause('circuit'), world.runtime.advance(100)]);
    expect(intake.decide({ ...PARTITION, offset: 0 }, 'skip')).toBe(false);
    await world.runtime.advance(6_000);
    expect(intake.decide({ ...PARTITION, offset: 0 }, 'skip')).toBe(true);
    intake.resume('circuit');
    await world.untilCommitted(1);
    await world.end();
  });
});
