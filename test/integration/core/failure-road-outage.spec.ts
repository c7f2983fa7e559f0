import { describeWithCluster } from '../support/index.js';
import {
  dlt,
  expectDeadLettered,
  expectHeld,
  expectRecovered,
  failBad,
  once,
} from './held-partition.js';
import { OrdersStage } from './orders-stage.js';

const PARTITIONS = 3;
const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 200, maxAttempts: 1 }] };

describeWithCluster('a topic whose broker is down', { brokers: 3 }, (cluster) => {
  let stage: OrdersStage;
  beforeEach(() => {
    stage = new OrdersStage(cluster().brokers);
    stage.handle = failBad;
  });
  afterEach(() => stage.end());

  const leaders = async (name: string): Promise<readonly number[]> => {
    const [topic] = await stage.admin.topics([name]);
    return (topic?.partitions ?? []).map(({ leader }) => leader);
  };

  /** It alone is on one broker only. Gives that, and a partition of the main topic that is led elsewhere. */
  const createWithout = async (name: string, tiers: number) => {
    await stage.createTopics({ partitions: PARTITIONS, tiers, without: name });
    await stage.admin.createTopics([{ name, partitions: 1, replicationFactor: 1 }]);
    const [home = 0] = await leaders(name);
    return { home, elsewhere: (await leaders(stage.topic)).findIndex((each) => each !== home) };
  };

  it('holds the partition of a dead letter until the broker is back; the group works on meanwhile', async () => {
    const { home, elsewhere } = await createWithout(stage.deadLetterTopic, 0);
    const application = await stage.start({ retry: once, dlt, sessionTimeoutMs: '15s' });
    await cluster().kill(home);
    await stage.writeTo(elsewhere, '"bad"', '"good"');
    await expectHeld(stage, application, stage.deadLetterTopic);
    await cluster().restart(home);
    await expectDeadLettered(stage, application);
  }, 60_000);

  it('holds the partition of a retry until the broker is back', async () => {
    const { home, elsewhere } = await createWithout(stage.retryTopic(1), 1);
    const application = await stage.start({ retry, dlt, sessionTimeoutMs: '15s' });
    await cluster().kill(home);
    await stage.writeTo(elsewhere, '"bad"', '"good"');
    await expectHeld(stage, application, stage.retryTopic(1));
    await cluster().restart(home);
    await expectRecovered(stage, application);
    await stage.until('the dead letter', async () => (await stage.letters()).length === 1);
    expect(await stage.letters()).toMatchObject([{ totalAttempts: 2 }]);
  }, 60_000);
});
