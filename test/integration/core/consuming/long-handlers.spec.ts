import { Deferred, realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { LifecycleManager } from '@nest-event-bus/core';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus } from '../support/orders-test-bus.js';

const SESSION_MS = 3_000;
const MAX_POLL_MS = 2_500;
/** Default of the broker setting `offset.metadata.max.bytes`. */
const METADATA_BYTES = 4_096;
/**
 * Number of records. Every second record is completed, so each of them is a range of its own in the
 * commit metadata, which takes two bytes.
 */
const RECORDS = 8_000;
/** Number of records whose ranges exceed the commit metadata. */
const ENOUGH = 6_000;
const shortTimeouts = {
  maxPollIntervalMs: MAX_POLL_MS,
  retry: { tier0: { maxAttempts: 1 }, tiers: [] },
  dlt: { publishTimeoutMs: 1_500 },
} as const;

describeWithKafka('A slow handler', ({ brokers }) => {
  let testBus: OrdersTestBus;
  beforeEach(async () => {
    testBus = new OrdersTestBus(brokers);
    await testBus.createTopics();
  });
  afterEach(() => testBus.end());

  it('may run for three session timeouts without a rebalance', async () => {
    testBus.handle = () => sleep(realRuntime, 3 * SESSION_MS);
    await testBus.start();
    const before = await testBus.members();
    await testBus.write('1');
    await testBus.until(
      'the record to be committed',
      async () => (await testBus.committed()) === 1,
    );
    expect(testBus.calls).toHaveLength(1);
    expect(await testBus.members()).toEqual(before);
  });

  it('loses its membership after maxPollIntervalMs, and its late result is not committed', async () => {
    const gates = [new Deferred(), new Deferred()];
    testBus.handle = () => gates[testBus.calls.length - 1]?.promise;
    const application = await testBus.start(shortTimeouts);
    const before = await testBus.members();
    await testBus.write('1');
    await testBus.until('the record to be delivered again', () => testBus.calls.length === 2);
    expect(await testBus.members()).not.toEqual(before);
    expect(testBus.health(application).status).toBe('DOWN');
    gates[0]?.resolve();
    await testBus.until('the late result to be logged', () =>
      testBus.logLines.some((line) => line.includes('ended after its partition was taken away')),
    );
    await sleep(realRuntime, 500);
    expect(await testBus.committed()).toBe(0);
    gates[1]?.resolve();
    await testBus.until(
      'the record to be committed',
      async () => (await testBus.committed()) === 1,
    );
    await testBus.until('health to be UP', () => testBus.health(application).status === 'UP');
  });

  it('does not prevent that other handlers finish in the drain time after it has exceeded maxPollIntervalMs', async () => {
    const gate = new Deferred();
    const calls = (key: string): number =>
      testBus.calls.filter(({ value }) => value === key).length;
    testBus.handle = ({ value }) => {
      if (value === 'held' && calls('held') === 1) return gate.promise;
      return value === 'late' ? sleep(realRuntime, MAX_POLL_MS) : undefined;
    };
    await testBus.start({ ...shortTimeouts, processing: { by: 'none', maxConcurrency: 4 } });
    const before = await testBus.members();
    await testBus.write('"held"');
    await testBus.until('the first to be called', () => calls('held') === 1);
    await sleep(realRuntime, MAX_POLL_MS - 1_000);
    await testBus.write('"late"');
    await testBus.until('both to be committed', async () => (await testBus.committed()) === 2);
    expect([calls('held'), calls('late')]).toEqual([2, 1]);
    expect(await testBus.members()).not.toEqual(before);
    gate.resolve();
  });

  it.each(['a pause', 'a delay of handBack()'])(
    'differs from %s, for which the member stays in its group',
    async (what) => {
      testBus.handle = (_, context) =>
        testBus.calls.length === 1 ? context.handBack({ delayMs: 1.5 * MAX_POLL_MS }) : undefined;
      const application = await testBus.start(shortTimeouts);
      const lifecycle = application.get(LifecycleManager);
      const before = await testBus.members();
      if (what === 'a pause') await lifecycle.pause('orders');
      await testBus.write('1');
      await sleep(realRuntime, 1.2 * MAX_POLL_MS);
      expect(testBus.calls).toHaveLength(what === 'a pause' ? 0 : 1);
      if (what === 'a pause') await lifecycle.resume('orders');
      await testBus.until(
        'the record to be committed',
        async () => (await testBus.committed()) === 1,
      );
      expect(await testBus.members()).toEqual(before);
    },
  );

  it('causes no rebalance even if more records behind it are completed than commit metadata can list', async () => {
    const gate = new Deferred();
    testBus.handle = ({ key }) => (String(key) === 'held' ? gate.promise : undefined);
    await testBus.start({ processing: { by: 'key', maxConcurrency: RECORDS } });
    const before = await testBus.members();
    const keys = Array.from({ length: RECORDS }, (_, index) =>
      index % 2 === 0 ? 'held' : `free-${index}`,
    );
    // The limit of the metadata is checked at the next commit, so a few more records may have
    // started by then.
    await testBus.writeKeysTo(0, keys.slice(0, ENOUGH));
    await testBus.until('the metadata to be full', async () => {
      const [{ metadata } = { metadata: null }] = await testBus.admin.groupOffsets(testBus.groupId);
      return (metadata?.length ?? 0) > 0.9 * METADATA_BYTES;
    });
    await testBus.until('no further handler to start', async () => {
      const started = testBus.calls.length;
      await sleep(realRuntime, 500);
      return testBus.calls.length === started;
    });
    const started = testBus.calls.length;
    await testBus.writeKeysTo(0, keys.slice(ENOUGH));
    await sleep(realRuntime, 3 * SESSION_MS);
    // At most the records of one poll may start before the limit is checked.
    expect(testBus.calls.length - started).toBeLessThan(100);
    expect(await testBus.members()).toEqual(before);
    gate.resolve();
    await testBus.until('all to be committed', async () => (await testBus.committed()) === RECORDS);
    expect(testBus.calls).toHaveLength(RECORDS);
    expect(await testBus.members()).toEqual(before);
  });
});
