import { AuthorizationError } from '@nest-event-bus/broker';
import type { ReplayOutcome } from '../../src/model/outcomes/replay-outcomes.js';
import { eventbusHeader } from '../support/recording-test-bus.spec-support.js';
import { otherProcess } from './other-process.spec-support.js';
import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const ONE_TIER = {
  ...AT_ONCE,
  retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 10_000 }] },
};
const LEDGER = 'orders.DLT.ledger';

/** Replays all open letters, and returns the id of the operation. */
async function replayAll(): Promise<string> {
  const report = await testBus.finished(testBus.replay.replay('orders', { all: true }));
  return report.planId;
}

async function outcomes(): Promise<readonly (Partial<ReplayOutcome> | undefined)[]> {
  const { letters } = await testBus.done(testBus.replay.list('orders'));
  return letters.map(({ outcome }) => outcome);
}

const statusOf = (operation: string) => testBus.done(testBus.replay.status('orders', operation));

describe('The ledger', () => {
  it('says of each replayed letter whether it was handled or dead-lettered again', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3']);
    testBus.handle = ({ value }) => {
      if (value === 2) throw new Error('still bad');
    };
    const operation = await replayAll();
    await testBus.runtime.advance(5_000);
    expect(await outcomes()).toMatchObject([
      { result: 'handled', tier: 0 },
      { result: 'dead-lettered', tier: 0, reason: 'exhausted' },
      { result: 'handled', tier: 0 },
      // The new letter of order 2 is open.
      undefined,
    ]);
    expect(await statusOf(operation)).toMatchObject({
      replayed: 3,
      outcomes: { handled: 2, deadLettered: 1, discarded: 0, undecided: 0 },
    });
  });

  it('knows the outcome of a record that ends in a tier, and nothing before', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2'], ONE_TIER);
    await testBus.runtime.advance(60_000);
    testBus.handle = ({ value }, { attempt }) => {
      if (value === 2 || attempt.tier === 0) throw new Error('not yet');
    };
    const operation = await replayAll();
    await testBus.runtime.advance(5_000);
    expect(await statusOf(operation)).toMatchObject({ outcomes: { handled: 0, undecided: 2 } });
    await testBus.runtime.advance(60_000);
    expect((await outcomes()).slice(0, 2)).toMatchObject([
      { result: 'handled', tier: 1 },
      { result: 'dead-lettered', tier: 1 },
    ]);
    expect(await statusOf(operation)).toMatchObject({
      outcomes: { handled: 1, deadLettered: 1, undecided: 0 },
    });
  });

  it.each(['by record', 'in slices'])(
    'gets no entry for records that were not replayed, handled %s',
    async (how) => {
      testBus = await RedriveTestBus.withLetters(['1'], {
        ...AT_ONCE,
        ...(how === 'in slices' && { transactions: { enabled: true } }),
      });
      testBus.cure();
      await replayAll();
      await testBus.write('orders', '7', '8', '9');
      await testBus.runtime.advance(5_000);
      expect(testBus.handled).toEqual([1, 7, 8, 9]);
      const keys = (await testBus.records(LEDGER)).map(({ key }) => String(key));
      expect(keys.filter((key) => key.startsWith('outcome/'))).toHaveLength(1);
    },
  );

  it('gets no outcome from a new event with copied headers', async () => {
    testBus = await RedriveTestBus.withLetters(['1'], ONE_TIER);
    await testBus.runtime.advance(60_000);
    const operation = await replayAll();
    const [replayed] = (await testBus.records('orders')).filter((record) =>
      eventbusHeader(record, 'replay-id'),
    );
    testBus.cure();
    await testBus.runtime.advance(60_000);
    testBus.handle = () => {
      throw new Error('another event');
    };
    await testBus.write('orders', { value: '5', headers: replayed!.headers });
    await testBus.runtime.advance(60_000);
    expect(await testBus.deadLetters()).toEqual(['1', '5']);
    expect(await statusOf(operation)).toMatchObject({
      outcomes: { handled: 1, deadLettered: 0, undecided: 0 },
    });
  });

  describe('that another process uses for a redrive', () => {
    const ofConsumer = { operation: 'produce', topic: LEDGER, clientId: 'bus' } as const;

    async function replayElsewhere(): Promise<string> {
      const run = otherProcess(testBus).replay('orders', { all: true });
      return (await testBus.finished(run)).planId;
    }

    beforeEach(async () => {
      testBus = await RedriveTestBus.withLetters(['1', '2', '3']);
      testBus.cure();
    });

    it('has the outcome before the offset of the record is committed', async () => {
      const before = await testBus.committed();
      testBus.broker.faults.delayRequests(ofConsumer, 2_000);
      const operation = await replayElsewhere();
      await testBus.runtime.advance(1_000);
      expect(testBus.handled).toEqual([1]);
      expect(await testBus.committed()).toBe(before);
      await testBus.runtime.advance(10_000);
      expect(await testBus.committed()).toBeGreaterThan(before);
      expect(await statusOf(operation)).toMatchObject({ outcomes: { handled: 3 } });
    });

    it('counts an outcome once if a crash repeats the record', async () => {
      const commits = testBus.broker.faults.refuse(
        { operation: 'commit', clientId: 'bus' },
        new AuthorizationError('READ is missing'),
      );
      const operation = await replayElsewhere();
      await testBus.runtime.advance(1_000);
      expect(testBus.handled).toEqual([1, 2, 3]);
      await testBus.done(testBus.application.close());
      commits.lift();
      testBus.application = await testBus.startHandler(AT_ONCE);
      await testBus.runtime.advance(5_000);
      expect(testBus.handled).toEqual([1, 2, 3, 1, 2, 3]);
      expect(await statusOf(operation)).toMatchObject({ outcomes: { handled: 3, undecided: 0 } });
    });

    it.each([
      [
        'refuses a write',
        () => testBus.broker.faults.refuse(ofConsumer, new AuthorizationError('no right to WRITE')),
      ],
      ['does not answer', () => testBus.broker.faults.loseRequests(ofConsumer)],
    ])('holds no record up for long if it %s, and the log says so', async (_, break_) => {
      const before = await testBus.committed();
      const fault = break_();
      const operation = await replayElsewhere();
      // One record waits for five seconds, and the others not at all.
      await testBus.runtime.advance(7_000);
      expect(testBus.handled).toEqual([1, 2, 3]);
      expect(await testBus.committed()).toBeGreaterThan(before + 2);
      expect(testBus.log.warnings.join()).toContain(
        "The outcomes of replayed records of binding 'orders' cannot be written",
      );
      expect(await statusOf(operation)).toMatchObject({ outcomes: { handled: 0, undecided: 3 } });
      fault.lift();
      await testBus.fails('7');
    });

    it('is forgotten with its outcomes when the letters are purged', async () => {
      await replayElsewhere();
      await testBus.runtime.advance(5_000);
      await testBus.done(testBus.replay.purge('orders', { olderThan: 0 }));
      const last = new Map(
        (await testBus.records(LEDGER)).map(({ key, value }) => [String(key), value]),
      );
      const left = [...last].filter(([, value]) => value !== null).map(([key]) => key);
      expect(left.filter((key) => /^(?:letter|outcome)\//.test(key))).toEqual([]);
    });
  });
});
