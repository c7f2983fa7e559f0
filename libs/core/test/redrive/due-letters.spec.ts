import { AT_ONCE, RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const withReplay = (values: readonly string[], replay: object) =>
  RedriveTestBus.withLetters(values, { ...AT_ONCE, dlt: { replay } });

describe('replayDue()', () => {
  it('replays letters that are older than dlt.replay.cooldownMs', async () => {
    testBus = await withReplay(['1'], { cooldownMs: '10m' });
    testBus.cure();
    const early = await testBus.finished(testBus.replay.replayDue('orders'));
    expect(early).toMatchObject({ state: 'completed', selected: 0 });
    await testBus.runtime.advance(600_000);
    const due = await testBus.finished(testBus.replay.replayDue('orders'));
    expect(due).toMatchObject({ replayed: 1 });
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual([1]);
  });

  it('replays at most dlt.replay.batchSize letters, the oldest first', async () => {
    testBus = await withReplay(['1', '2', '3'], { cooldownMs: 0, batchSize: 2 });
    testBus.cure();
    await testBus.finished(testBus.replay.replayDue('orders'));
    await testBus.runtime.advance(1_000);
    expect(testBus.handled).toEqual([1, 2]);
  });

  it('begins the cooldown again for a letter that failed again, also after a restart', async () => {
    testBus = await withReplay(['1'], { cooldownMs: '10m', maxReplays: 2 });
    const replayed: number[] = [];
    for (let minutes = 0; minutes < 60; minutes += 5) {
      const report = await testBus.finished(testBus.replay.replayDue('orders'));
      replayed.push(report.replayed);
      if (minutes === 10) {
        await testBus.done(testBus.application.close());
        testBus.application = await testBus.startHandler({
          ...AT_ONCE,
          dlt: { replay: { cooldownMs: '10m', maxReplays: 2 } },
        });
      }
      await testBus.runtime.advance(300_000);
    }
    expect(replayed).toEqual([0, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0]);
  });
});
