import { OperationLog } from '../../src/redrive/ledger/operation-log.js';
import { requireLedger } from '../../src/redrive/ledger/ledger-topic.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

const NOTE = { by: 'ann', reason: 'test data' };

/** Keys of the ledger whose last entry has a value, which is what compaction keeps. */
async function keptKeys(): Promise<readonly string[]> {
  const entries = await testBus.records('orders.DLT.ledger');
  const last = new Map(entries.map(({ key, value }) => [String(key), value]));
  return [...last].filter(([, value]) => value !== null).map(([key]) => key);
}

const ofKind = async (kind: string): Promise<readonly string[]> =>
  (await keptKeys()).filter((key) => key.startsWith(`${kind}/`));

async function operationLog(): Promise<OperationLog> {
  const admin = testBus.outside.admin();
  const { config } = testBus.application.get(ContainerRegistry).require('orders');
  const topics = await testBus.done(requireLedger(admin, config));
  const producer = testBus.outside.producer({ lingerMs: 0 });
  return new OperationLog({ admin, producer: () => producer, topics });
}

describe('The ledger of a redrive', () => {
  it('has one entry for all letters of a batch', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3', '4']);
    testBus.cure();
    await testBus.finished(testBus.replay.replay('orders', { all: true }));
    expect(await ofKind('replayed')).toHaveLength(1);
    expect(await ofKind('letter')).toEqual([]);
    const { letters } = await testBus.done(testBus.replay.list('orders'));
    expect(letters.map(({ status, decision }) => [status, decision?.times])).toEqual(
      Array.from({ length: 4 }, () => ['replayed', 1]),
    );
  });

  it('forgets letters that retention has deleted when a redrive ends', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3', '4']);
    testBus.cure();
    const { replay } = testBus;
    await testBus.finished(replay.replay('orders', { limit: 2 }));
    const marked = { at: [{ partition: 0, offset: 2 }] };
    await testBus.done(replay.markPermanentlyFailed('orders', marked, NOTE));
    const admin = testBus.outside.admin();
    await testBus.done(admin.deleteRecords('orders.DLT', [{ partition: 0, offset: 3 }]));
    await testBus.finished(replay.replay('orders', { all: true }));
    expect(await ofKind('letter')).toEqual([]);
    expect(await ofKind('replayed')).toEqual([expect.stringMatching(/\/3$/)]);
    expect(await ofKind('outcome')).toEqual([expect.stringMatching(/\/3$/)]);
  });

  it('forgets the oldest operations and actions, and never one that may still run', async () => {
    testBus = await RedriveTestBus.withLetters(['1', '2', '3']);
    testBus.cure();
    const { replay } = testBus;
    const unfinished = await testBus.done(replay.plan('orders', { all: true }));
    const run = replay.run('orders', unfinished.id, { rate: 1 });
    await testBus.runtime.advance(100);
    run.stop();
    await testBus.finished(run);
    for (let round = 0; round < 4; round++) {
      await testBus.runtime.advance(1_000);
      await testBus.finished(replay.replay('orders', { limit: 1 }));
      const none = { where: { key: `none ${round}` } };
      await testBus.done(replay.markPermanentlyFailed('orders', none, NOTE));
    }
    await testBus.done((await operationLog()).forgetOld(2));
    const kept = await testBus.done(replay.operations('orders'));
    expect(kept).toHaveLength(3);
    expect(kept.at(-1)?.plan.id).toBe(unfinished.id);
    expect(await testBus.done(replay.actions('orders'))).toHaveLength(2);
    expect(await ofKind('plan')).toHaveLength(3);
    const ofOperations = new Set((await ofKind('progress')).map((key) => key.split('/')[1]));
    expect(ofOperations.size).toBeLessThanOrEqual(3);
    // The letters keep their states.
    expect((await testBus.done(replay.plan('orders', { all: true }))).selected).toBe(0);
  });
});
