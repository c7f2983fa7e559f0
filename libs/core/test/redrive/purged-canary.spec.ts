import type { RedriveReport } from '../../src/redrive/running/redrive-report.js';
import { otherProcess } from './other-process.spec-support.js';
import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const statusOf = (id: string) => testBus.done(otherProcess(testBus).status('orders', id));
const purge = () => testBus.done(testBus.replay.purge('orders', { olderThan: '1ms' }));
const outcomeKeys = async (): Promise<number> => {
  const alive = new Map<string, boolean>();
  for (const { key, value } of await testBus.records('orders.DLT.ledger'))
    alive.set(String(key), value !== null);
  return [...alive].filter(([key, isAlive]) => isAlive && key.startsWith('outcome/')).length;
};

describe('A canary whose letters are purged while it waits', () => {
  it.each(['is good', 'is bad'])(
    'gets its verdict by their outcomes, if it %s',
    async (verdict) => {
      testBus = await RedriveTestBus.withLetters(['1', '2', '3', '4']);
      let release: (() => void) | undefined;
      const released = new Promise<void>((resolve) => (release = resolve));
      testBus.handle = async ({ value }) => {
        if (value === 2) await released;
        if (value === 2 && verdict === 'is bad') throw new Error('not cured');
      };
      const { replay } = testBus;
      const { id } = await testBus.done(replay.plan('orders', { all: true }));
      const run: Promise<RedriveReport> = Promise.resolve(replay.run('orders', id, { canary: 2 }));
      await testBus.runtime.advance(5_000);
      const waiting = { good: 1, bad: 0, undecided: 1, verdict: 'undecided' };
      expect((await statusOf(id)).canary).toMatchObject(waiting);
      // The letters behind the canary are purged as well.
      expect((await purge()).deleted).toBe(4);
      expect((await statusOf(id)).canary).toMatchObject(waiting);
      release?.();
      const report = await testBus.done(run);
      if (verdict === 'is bad') {
        expect(report).toMatchObject({ state: 'rejected', canary: { good: 1, bad: 1 } });
        return;
      }
      expect(report).toMatchObject({
        state: 'completed',
        selected: 4,
        replayed: 2,
        skipped: { deleted: 2 },
        remaining: 0,
        canary: { good: 2, bad: 0, undecided: 0, verdict: 'good' },
      });
      // A verdict needs them no longer, so the next purge deletes them.
      await testBus.fails('5');
      await purge();
      expect(await outcomeKeys()).toBe(0);
    },
  );
});
