import { Deferred, realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { LifecycleManager } from '@nest-event-bus/core';
import { describeWithKafka } from '../support/index.js';
import { OrdersStage } from './orders-stage.js';

const SESSION_MS = 1_500;
const MAX_POLL_MS = 2_500;
/** `offset.metadata.max.bytes` of a broker. */
const METADATA_BYTES = 4_096;
/** Every other one is a run of its own, of two bytes. */
const RECORDS = 8_000;
/** Of them, to have more done than a commit can tell. */
const ENOUGH = 6_000;
const quick = {
  maxPollIntervalMs: MAX_POLL_MS,
  retry: { tier0: { maxAttempts: 1 }, tiers: [] },
  dlt: { publishTimeoutMs: 1_500 },
} as const;

describeWithKafka('a handler that takes its time', ({ brokers }) => {
  let stage: OrdersStage;
  beforeEach(async () => {
    stage = new OrdersStage(brokers);
    await stage.createTopics();
  });
  afterEach(() => stage.end());

  it('for three session time-outs costs nobody its place', async () => {
    stage.handle = () => sleep(realRuntime, 3 * SESSION_MS);
    await stage.start();
    const before = await stage.members();
    await stage.write('1');
    await stage.until('it to be committed', async () => (await stage.committed()) === 1);
    expect(stage.calls).toHaveLength(1);
    expect(await stage.members()).toEqual(before);
  });

  it('beyond maxPollIntervalMs is fenced, and what it does then commits nothing', async () => {
    const gates = [new Deferred(), new Deferred()];
    stage.handle = () => gates[stage.calls.length - 1]?.promise;
    const application = await stage.start(quick);
    const before = await stage.members();
    await stage.write('1');
    await stage.until('the record to come again', () => stage.calls.length === 2);
    expect(await stage.members()).not.toEqual(before);
    expect(stage.health(application).status).toBe('DOWN');
    gates[0]?.resolve();
    await stage.until('the late end to be told', () =>
      stage.said.some((line) => line.includes('ended after its partition was taken away')),
    );
    await sleep(realRuntime, 500);
    expect(await stage.committed()).toBe(0);
    gates[1]?.resolve();
    await stage.until('it to be committed', async () => (await stage.committed()) === 1);
    await stage.until('health to be UP', () => stage.health(application).status === 'UP');
  });

  it('beyond maxPollIntervalMs leaves others the time to end what they are at', async () => {
    const gate = new Deferred();
    const calls = (key: string): number => stage.calls.filter(({ value }) => value === key).length;
    stage.handle = ({ value }) => {
      if (value === 'held' && calls('held') === 1) return gate.promise;
      return value === 'late' ? sleep(realRuntime, MAX_POLL_MS) : undefined;
    };
    await stage.start({ ...quick, processing: { by: 'none', maxConcurrency: 4 } });
    const before = await stage.members();
    await stage.write('"held"');
    await stage.until('the first to be called', () => calls('held') === 1);
    await sleep(realRuntime, MAX_POLL_MS - 1_000);
    await stage.write('"late"');
    await stage.until('both to be committed', async () => (await stage.committed()) === 2);
    expect([calls('held'), calls('late')]).toEqual([2, 1]);
    expect(await stage.members()).not.toEqual(before);
    gate.resolve();
  });

  it.each(['a pause', 'a wait that was asked for'])(
    'is not what %s is, however long: the member stays',
    async (what) => {
      stage.handle = (_, context) =>
        stage.calls.length === 1 ? context.handBack({ delayMs: 1.5 * MAX_POLL_MS }) : undefined;
      const application = await stage.start(quick);
      const lifecycle = application.get(LifecycleManager);
      const before = await stage.members();
      if (what === 'a pause') await lifecycle.pause('orders');
      await stage.write('1');
      await sleep(realRuntime, 1.2 * MAX_POLL_MS);
      expect(stage.calls).toHaveLength(what === 'a pause' ? 0 : 1);
      if (what === 'a pause') await lifecycle.resume('orders');
      await stage.until('it to be committed', async () => (await stage.committed()) === 1);
      expect(await stage.members()).toEqual(before);
    },
  );

  it('while as much is done behind it as a commit can tell, costs nobody its place either', async () => {
    const gate = new Deferred();
    stage.handle = ({ key }) => (String(key) === 'held' ? gate.promise : undefined);
    await stage.start({ processing: { by: 'key', maxConcurrency: RECORDS } });
    const before = await stage.members();
    const keys = Array.from({ length: RECORDS }, (_, index) =>
      index % 2 === 0 ? 'held' : `free-${index}`,
    );
    // What a commit has no room for is known when the next one is made: some more may have begun by then.
    await stage.writeKeysTo(0, keys.slice(0, ENOUGH));
    await stage.until('the metadata to be full', async () => {
      const [{ metadata } = { metadata: null }] = await stage.admin.groupOffsets(stage.groupId);
      return (metadata?.length ?? 0) > 0.9 * METADATA_BYTES;
    });
    await stage.until('nothing more to begin', async () => {
      const begun = stage.calls.length;
      await sleep(realRuntime, 500);
      return stage.calls.length === begun;
    });
    const begun = stage.calls.length;
    await stage.writeKeysTo(0, keys.slice(ENOUGH));
    await sleep(realRuntime, 3 * SESSION_MS);
    // No more than one poll brings before it is looked at.
    expect(stage.calls.length - begun).toBeLessThan(100);
    expect(await stage.members()).toEqual(before);
    gate.resolve();
    await stage.until('all to be committed', async () => (await stage.committed()) === RECORDS);
    expect(stage.calls).toHaveLength(RECORDS);
    expect(await stage.members()).toEqual(before);
  });
});
