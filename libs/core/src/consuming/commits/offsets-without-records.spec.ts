import { memory } from '@nest-event-bus/broker/memory';
import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { ConsumingTestBed, TOPIC, upTo } from '../session/consuming-test-bed.spec-support.js';
import type { ConsumingSettings } from '../session/consuming-session.js';

const MODES: readonly [string, Partial<ConsumingSettings>][] = [
  ['by partition', {}],
  ['by partition, with MANUAL', { ackMode: 'MANUAL' }],
  ['by partition, with strict commits', { strictCommits: true }],
  ['by key', { processing: { by: 'key', maxConcurrency: 4 } }],
  ['without order', { processing: { by: 'none', maxConcurrency: 4 } }],
  ['in slices', { listenerType: 'BATCH' }],
  ['in transactions', { isTransactional: true }],
  [
    'in transactions by key',
    { isTransactional: true, processing: { by: 'key', maxConcurrency: 4 } },
  ],
];

/** Appends a transaction of two records that is aborted: three offsets without a record. */
async function writeAborted(testBed: ConsumingTestBed): Promise<void> {
  const driver = memory({ broker: testBed.broker, clientId: 'transactional-writer' });
  const producer = driver.producer({ transactionalId: testBed.runtime.uuid() });
  const transaction = await testBed.done(producer.transaction());
  const records = upTo(2).map(() => ({ topic: TOPIC, partition: 0, value: 'never read' }));
  await testBed.done(transaction.send(records));
  await testBed.done(transaction.abort());
  await testBed.done(driver.close());
}

describe.each(MODES)('A trailing aborted transaction, processing %s', (_, settings) => {
  let testBed: ConsumingTestBed;
  beforeEach(async () => {
    testBed = await ConsumingTestBed.of(1);
  });
  afterEach(() => testBed.end());

  it('is committed once all records before it are done', async () => {
    await testBed.started(() => succeeded, { settings });
    await testBed.write(3);
    await testBed.untilCommitted(3);
    await writeAborted(testBed);
    await testBed.untilCommitted(6);
    await testBed.write(1);
    await testBed.untilCommitted(7);
  });

  it('is committed if it is all that the partition contains', async () => {
    await writeAborted(testBed);
    await testBed.started(() => succeeded, { settings });
    await testBed.untilCommitted(3);
  });

  it('is not committed before an unfinished record', async () => {
    const gate = new Deferred<Outcome>();
    const { offsets } = await testBed.started(
      ({ record }) => (record.offset === 2 ? gate.promise : succeeded),
      { settings },
    );
    await testBed.write(3);
    await testBed.until(() => offsets().includes(2));
    await writeAborted(testBed);
    await testBed.runtime.advance(10_000);
    expect((await testBed.committed()) ?? 0).toBeLessThanOrEqual(2);
    gate.resolve(succeeded);
    await testBed.untilCommitted(6);
  });

  it('is committed by a stop that waits for the last record', async () => {
    const gate = new Deferred<Outcome>();
    const { session, offsets } = await testBed.started(() => gate.promise, { settings });
    await testBed.write(1);
    await testBed.until(() => offsets().length === 1);
    await writeAborted(testBed);
    await testBed.runtime.advance(5_000);
    const stopped = session.close({ drainMs: 10_000 });
    await testBed.runtime.advance(100);
    gate.resolve(succeeded);
    await testBed.done(stopped);
    expect(await testBed.committed()).toBe(4);
  });
});

describe('Offsets without records', () => {
  it.each(MODES)('cause one commit (%s)', async (_, settings) => {
    const testBed = await ConsumingTestBed.of(1);
    const commits: number[] = [];
    const onCommit = (offset: number): void => void commits.push(offset);
    await testBed.started(() => succeeded, { settings, onCommit });
    await writeAborted(testBed);
    await testBed.runtime.advance(60_000);
    expect(commits).toEqual([3]);
    await testBed.end();
  });

  it.each([
    ['by partition', {}],
    ['by key', { processing: { by: 'key', maxConcurrency: 4 } as const }],
  ])(
    'are committed before the next transaction begins, so that no late commit takes its offset back (%s)',
    async (_, settings) => {
      const testBed = await ConsumingTestBed.of(1);
      const { offsets } = await testBed.started(() => succeeded, {
        settings: { isTransactional: true, ...settings },
      });
      const fault = testBed.broker.faults.refuse({ operation: 'commit' }, 'NOT_COORDINATOR');
      await writeAborted(testBed);
      await testBed.runtime.advance(5_000);
      expect(fault.hits).toBeGreaterThan(0);
      await testBed.write(1);
      await testBed.runtime.advance(5_000);
      expect(offsets()).toEqual([]);
      fault.lift();
      await testBed.untilCommitted(4);
      expect(offsets()).toEqual([3]);
      await testBed.end();
    },
  );
});
