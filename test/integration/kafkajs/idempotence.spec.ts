import type { BrokerDriver, ProducerOptions, SendError } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { unique, type TcpProxy } from '@nest-event-bus/testing';
import { describeWithCluster } from '../support/index.js';

const PARTITIONS = 3;

async function valuesOf(driver: BrokerDriver, topic: string, partition: number) {
  const values: string[] = [];
  const range = driver.admin().readRange(topic, partition, 0, Number.MAX_SAFE_INTEGER);
  for await (const { value } of range) values.push(String(value));
  return values;
}

describeWithCluster('idempotent sends over a faulty network', { proxied: true }, (cluster) => {
  const getProxy = (): TcpProxy => {
    const [proxy] = cluster().proxies;
    if (proxy === undefined) throw new Error('The cluster has no proxy.');
    return proxy;
  };

  /** `driver` is connected through the proxy, `direct` is not. */
  async function withTopic(
    partitions: number,
    work: (topic: string, driver: BrokerDriver, direct: BrokerDriver) => Promise<void>,
  ): Promise<void> {
    const direct = kafkajs({ brokers: cluster().brokers });
    const driver = kafkajs({ brokers: cluster().proxiedBrokers });
    try {
      const topic = unique('idempotence');
      await direct.admin().createTopics([{ name: topic, partitions }]);
      await work(topic, driver, direct);
    } finally {
      getProxy().forward();
      await Promise.allSettled([driver.close(), direct.close()]);
    }
  }

  /**
   * Drops the responses for some time, and then breaks the connections. The batch was written, and
   * is sent again.
   */
  async function loseResponses(forMs: number): Promise<void> {
    getProxy().swallow('toClient');
    await sleep(realRuntime, forMs);
    getProxy().forward();
    getProxy().cut();
  }

  /** Disturbs the network at random times and in random ways until `isOver`. */
  async function disturbNetwork(isOver: () => boolean): Promise<number> {
    let times = 0;
    while (!isOver()) {
      await sleep(realRuntime, 5 + realRuntime.random() * 60);
      const chance = realRuntime.random();
      if (chance < 0.6) await loseResponses(5 + realRuntime.random() * 25);
      else if (chance < 0.8) getProxy().cut();
      else getProxy().cutAfter(1 + Math.floor(realRuntime.random() * 3_000), 'toServer');
      times++;
    }
    getProxy().forward();
    return times;
  }

  /** Sends 1,000 records in small sends, some at the same time, while the network is disturbed. */
  async function sendThousandRecords(
    driver: BrokerDriver,
    topic: string,
    options: ProducerOptions,
  ) {
    const producer = driver.producer({
      requestTimeoutMs: 1_000,
      maxRequestBytes: 8_000,
      ...options,
    });
    let isOver = false;
    const disturbing = disturbNetwork(() => isOver);
    const sends: Promise<unknown>[] = [];
    for (let at = 0; at < 1_000; at += 10) {
      const records = Array.from({ length: 10 }, (_, index) => ({
        topic,
        partition: (at + index) % PARTITIONS,
        value: `${at + index}`,
      }));
      sends.push(producer.send(records));
      await sleep(realRuntime, 8);
    }
    const ends = await Promise.allSettled(sends);
    isOver = true;
    expect(await disturbing).toBeGreaterThan(5);
    return ends.filter(({ status }) => status === 'rejected');
  }

  const expected = (partition: number) =>
    Array.from({ length: 1_000 }, (_, at) => at)
      .filter((at) => at % PARTITIONS === partition)
      .map(String);

  it('write 1,000 records exactly once and in order despite cut connections and lost responses', async () => {
    await withTopic(PARTITIONS, async (topic, driver, direct) => {
      expect(await sendThousandRecords(driver, topic, {})).toEqual([]);
      for (let partition = 0; partition < PARTITIONS; partition++)
        expect(await valuesOf(direct, topic, partition)).toEqual(expected(partition));
    });
  });

  it('write twice after a lost response with idempotent: false, which proves that responses are lost', async () => {
    await withTopic(1, async (topic, driver, direct) => {
      const producer = driver.producer({ idempotent: false });
      await producer.send([{ topic, value: 'before' }]);
      getProxy().swallow('toClient');
      const sending = producer.send([{ topic, value: 'twice' }]);
      await sleep(realRuntime, 300);
      getProxy().forward();
      getProxy().cut();
      await sending;
      expect(await valuesOf(direct, topic, 0)).toEqual(['before', 'twice', 'twice']);
    });
  });

  it('write the record after one with an unknown result, and do not treat it as a duplicate', async () => {
    await withTopic(1, async (topic, driver, direct) => {
      const producer = driver.producer({ requestTimeoutMs: 400 });
      await producer.send([{ topic, value: 'before' }]);
      for (const round of [1, 2, 3]) {
        getProxy().swallow('toClient');
        const error: unknown = await producer
          .send([{ topic, value: `lost ${round}` }], { timeoutMs: 300 })
          .catch((reason: unknown) => reason);
        expect((error as SendError).outcomes.map(({ state }) => state)).toEqual(['unknown']);
        getProxy().forward();
        getProxy().cut();
        const [written] = await producer.send([{ topic, value: `next ${round}` }]);
        expect(written?.offset).toBe(round * 2);
      }
      const rounds = [1, 2, 3].flatMap((round) => [`lost ${round}`, `next ${round}`]);
      expect(await valuesOf(direct, topic, 0)).toEqual(['before', ...rounds]);
    });
  });

  it('write nothing twice if a broker that was frozen executes an old request', async () => {
    await withTopic(1, async (topic, driver, direct) => {
      const producer = driver.producer({ requestTimeoutMs: 300 });
      await producer.send([{ topic, value: 'before' }]);
      for (const round of [1, 2, 3]) {
        cluster().freeze(0);
        const slow = producer.send([{ topic, value: `slow ${round}` }]);
        const lost = producer
          .send([{ topic, value: `lost ${round}` }], { timeoutMs: 200 })
          .catch((reason: unknown) => reason);
        await sleep(realRuntime, 700);
        cluster().thaw(0);
        await Promise.all([slow, lost]);
      }
      await producer.send([{ topic, value: 'after' }]);
      const values = await valuesOf(direct, topic, 0);
      expect(new Set(values).size).toBe(values.length);
      const slow = values.filter((value) => !value.startsWith('lost'));
      expect(slow).toEqual(['before', 'slow 1', 'slow 2', 'slow 3', 'after']);
    });
  });

  it('succeed after all records were deleted, and after the topic was recreated', async () => {
    await withTopic(1, async (topic, driver, direct) => {
      const producer = driver.producer();
      const admin = direct.admin();
      await producer.send([
        { topic, value: 'a' },
        { topic, value: 'b' },
      ]);
      await admin.deleteRecords(topic, [{ partition: 0, offset: 2 }]);
      expect(await producer.send([{ topic, value: 'c' }])).toMatchObject([{ offset: 2 }]);
      await admin.deleteTopics([topic]);
      await admin.createTopics([{ name: topic, partitions: 1 }]);
      expect(await producer.send([{ topic, value: 'd' }])).toMatchObject([{ offset: 0 }]);
      expect(await valuesOf(direct, topic, 0)).toEqual(['d']);
    });
  });
});
