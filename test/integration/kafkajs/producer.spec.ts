import {
  RecordTooLargeError,
  SendError,
  UnknownPartitionError,
  UnknownTopicError,
  type BrokerDriver,
  type BrokerRecord,
  type OutgoingRecord,
  type ProducerOptions,
  type ProducerSession,
  type WrittenRecord,
} from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import { eventually, unique } from '@nest-event-bus/testing';
import { describeWithCluster, describeWithKafka } from '../support/index.js';

/** Runs the work with a new driver and topic, and closes the driver. */
async function withTopic(
  brokers: readonly string[],
  setting: { readonly partitions: number; readonly config?: Readonly<Record<string, string>> },
  work: (topic: string, driver: BrokerDriver) => Promise<void>,
): Promise<void> {
  const driver = kafkajs({ brokers, clientId: 'sender-spec' });
  try {
    const topic = unique('sender');
    await driver.admin().createTopics([{ name: topic, ...setting }]);
    await work(topic, driver);
  } finally {
    await driver.close();
  }
}

async function readPartition(
  driver: BrokerDriver,
  topic: string,
  partition: number,
): Promise<readonly BrokerRecord[]> {
  const records: BrokerRecord[] = [];
  const range = driver.admin().readRange(topic, partition, 0, Number.MAX_SAFE_INTEGER);
  for await (const record of range) records.push(record);
  return records;
}

async function valuesOf(driver: BrokerDriver, topic: string, partition: number) {
  return (await readPartition(driver, topic, partition)).map(({ value }) => String(value));
}

async function sendErrorOf(sending: Promise<unknown>): Promise<SendError> {
  const error: unknown = await sending.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  expect(error).toBeInstanceOf(SendError);
  return error as SendError;
}

const statesOf = ({ outcomes }: SendError) => outcomes.map(({ state }) => state);

describeWithKafka('producer on a real broker', ({ brokers }) => {
  it('writes key, value and headers unchanged, and returns the offset', async () => {
    await withTopic(brokers, { partitions: 3 }, async (topic, driver) => {
      const headers = [
        { key: 'h', value: 'text' },
        { key: 'h', value: Buffer.from([0, 255]) },
        { key: 'n', value: null },
      ];
      const [written] = await driver
        .producer()
        .send([{ topic, partition: 2, key: 'Zürich', value: null, headers, timestamp: 1_000 }]);
      expect(written).toEqual({ topic, partition: 2, offset: 0, timestamp: 1_000 });
      const [record] = await readPartition(driver, topic, 2);
      expect(record).toMatchObject({ key: Buffer.from('Zürich'), value: null, timestamp: 1_000 });
      expect(record?.headers.map(({ key, value }) => [key, value?.toString('hex')])).toEqual([
        ['h', Buffer.from('text').toString('hex')],
        ['h', '00ff'],
        ['n', undefined],
      ]);
    });
  });

  it.each(['none', 'gzip'] as const)(
    'writes concurrent sends once and in order, compression %s',
    async (compression) => {
      await withTopic(brokers, { partitions: 3 }, async (topic, driver) => {
        const producer = driver.producer({ compression, maxRequestBytes: 100_000 });
        const sends = Array.from({ length: 20 }, (_, call) =>
          producer.send(
            Array.from({ length: 300 }, (__, at) => ({
              topic,
              partition: at % 3,
              value: `${call}.${at}`.padEnd(100),
            })),
          ),
        );
        const written = (await Promise.all(sends)).flat();
        for (const partition of [0, 1, 2]) {
          const offsets = written.filter((each) => each.partition === partition);
          expect(offsets.map(({ offset }) => offset)).toEqual([...Array(2_000).keys()]);
          const values = await valuesOf(driver, topic, partition);
          expect(values[0]?.trim()).toBe(`0.${partition}`);
          expect(values).toHaveLength(2_000);
        }
      });
    },
  );

  it("returns the broker's timestamp if the topic uses LogAppendTime", async () => {
    const config = { 'message.timestamp.type': 'LogAppendTime' };
    await withTopic(brokers, { partitions: 1, config }, async (topic, driver) => {
      const [written] = await driver.producer().send([{ topic, value: 'v', timestamp: 1_000 }]);
      expect(written?.timestamp).toBeGreaterThan(1_000_000);
      expect((await readPartition(driver, topic, 0))[0]?.timestamp).toBe(written?.timestamp);
    });
  });

  it('splits a batch that is too large, and fails only a record that is too large alone', async () => {
    const config = { 'max.message.bytes': '4000' };
    await withTopic(brokers, { partitions: 1, config }, async (topic, driver) => {
      const values = Array.from({ length: 40 }, (_, at) =>
        `${at}`.padEnd(at === 17 ? 5_000 : 500, '.'),
      );
      const error = await sendErrorOf(
        driver.producer().send(values.map((value) => ({ topic, value }))),
      );
      expect(error.outcomes[17]).toMatchObject({
        state: 'not-written',
        error: expect.any(RecordTooLargeError) as Error,
      });
      expect(statesOf(error).filter((state) => state === 'written')).toHaveLength(39);
      expect(await valuesOf(driver, topic, 0)).toEqual(values.filter((_, at) => at !== 17));
    });
  });

  it('names the record that the broker refuses, and writes the others', async () => {
    const config = { 'cleanup.policy': 'compact' };
    await withTopic(brokers, { partitions: 1, config }, async (topic, driver) => {
      const keys = ['a', null, 'b'];
      const error = await sendErrorOf(
        driver.producer().send(keys.map((key) => ({ topic, partition: 0, key, value: 'v' }))),
      );
      expect(statesOf(error)).toEqual(['written', 'not-written', 'written']);
      expect(error.brokerCode).toBe(87);
      expect(await valuesOf(driver, topic, 0)).toHaveLength(2);
    });
  });

  it('rejects an unknown partition and an unknown topic, and creates neither', async () => {
    await withTopic(brokers, { partitions: 1 }, async (topic, driver) => {
      const missing = unique('missing');
      const records = [
        { topic, value: 'written' },
        { topic, partition: 1, value: 'v' },
        { topic: missing, value: 'v' },
      ];
      const error = await sendErrorOf(driver.producer().send(records, { timeoutMs: 500 }));
      expect(statesOf(error)).toEqual(['written', 'not-written', 'not-written']);
      expect(error.outcomes[1]).toMatchObject({
        error: expect.any(UnknownPartitionError) as Error,
      });
      expect(error.outcomes[2]).toMatchObject({ error: expect.any(UnknownTopicError) as Error });
      expect(await driver.admin().topics([missing])).toEqual([]);
    });
  });
});

describeWithCluster('producer on a faulty network', { proxied: true }, (cluster) => {
  const valuesWithoutResponses = async (
    options: ProducerOptions,
    work: (topic: string, producer: ProducerSession) => Promise<void>,
  ): Promise<readonly string[]> => {
    const [proxy] = cluster().proxies;
    if (proxy === undefined) throw new Error('The cluster has no proxy.');
    let values: readonly string[] = [];
    await withTopic(cluster().brokers, { partitions: 1 }, async (topic, direct) => {
      const driver = kafkajs({ brokers: cluster().proxiedBrokers });
      try {
        const producer = driver.producer(options);
        await producer.send([{ topic, value: 'before' }]);
        proxy.swallow('toClient');
        await work(topic, producer);
        values = await valuesOf(direct, topic, 0);
      } finally {
        proxy.forward();
        proxy.cut();
        await driver.close();
      }
    });
    return values;
  };

  it('reports a record whose response was lost as unknown, and the record is in the log', async () => {
    const options = { requestTimeoutMs: 300, deliveryTimeoutMs: 400 };
    const values = await valuesWithoutResponses(options, async (topic, producer) => {
      const error = await sendErrorOf(producer.send([{ topic, value: 'lost answer' }]));
      expect([statesOf(error), error.retriable]).toEqual([['unknown'], true]);
    });
    expect(values).toEqual(['before', 'lost answer']);
  });

  it('sends waiting records once the network is available', async () => {
    const values = await valuesWithoutResponses(
      { requestTimeoutMs: 300 },
      async (topic, producer) => {
        const sending = producer.send([{ topic, value: 'sent twice' }]);
        await sleep(realRuntime, 350);
        cluster().proxies[0]?.forward();
        const [written] = await sending;
        expect(written?.offset).toBe(1);
      },
    );
    expect(values).toEqual(['before', 'sent twice']);
  });

  it('writes all records in order over connections that break in the middle of a request', async () => {
    const [proxy] = cluster().proxies;
    await withTopic(cluster().brokers, { partitions: 2 }, async (topic, direct) => {
      const driver = kafkajs({ brokers: cluster().proxiedBrokers });
      const producer = driver.producer({ maxRequestBytes: 20_000 });
      const sends: Promise<readonly WrittenRecord[]>[] = [];
      for (let round = 0; round < 30; round++) {
        if (round % 5 === 4) proxy?.cut();
        const records = Array.from({ length: 100 }, (_, at) => ({
          topic,
          partition: at % 2,
          value: `${round * 100 + at}`.padEnd(200),
        }));
        sends.push(producer.send(records));
        await sleep(realRuntime, 10);
      }
      await Promise.all(sends);
      for (const partition of [0, 1]) {
        const values = (await valuesOf(direct, topic, partition)).map(Number);
        const expected = Array.from({ length: 1_500 }, (_, at) => at * 2 + partition);
        expect(values).toEqual(expected);
      }
      await driver.close();
    });
  });
});

describeWithCluster('producer on a cluster whose leaders fail', { brokers: 3 }, (cluster) => {
  it('writes each record once, at the returned offset, in order', async () => {
    await withTopic(cluster().brokers, { partitions: 6 }, async (topic, driver) => {
      const traffic = new ProducerTraffic(driver.producer({ requestTimeoutMs: 5_000 }), topic, 6);
      const stopped = traffic.run();
      await eventually(() => traffic.acknowledged.length > 500, { description: 'some traffic' });
      await cluster().kill(1);
      const before = traffic.acknowledged.length;
      await eventually(() => traffic.acknowledged.length > before + 1_000, {
        description: 'traffic past the dead leader',
        timeoutMs: 60_000,
      });
      await cluster().restart(1);
      traffic.stop();
      await stopped;
      await traffic.expectEachRecordOnce(driver);
    });
  });
});

/**
 * Sends records with and without an explicit partition to all partitions at the same time, and
 * stores the results.
 */
class ProducerTraffic {
  readonly acknowledged: { readonly value: string; readonly at: WrittenRecord }[] = [];
  readonly #explicit: string[][];
  #sent = 0;
  #isStopped = false;

  constructor(
    private readonly producer: ProducerSession,
    private readonly topic: string,
    private readonly partitions: number,
  ) {
    this.#explicit = Array.from({ length: partitions }, () => []);
  }

  stop(): void {
    this.#isStopped = true;
  }

  async run(): Promise<void> {
    const sends: Promise<void>[] = [];
    while (!this.#isStopped) {
      sends.push(this.#send());
      await sleep(realRuntime, 5);
    }
    await Promise.all(sends);
  }

  async expectEachRecordOnce(driver: BrokerDriver): Promise<void> {
    const all: string[] = [];
    for (let partition = 0; partition < this.partitions; partition++) {
      const values = await valuesOf(driver, this.topic, partition);
      for (const { value, at } of this.acknowledged)
        if (at.partition === partition) expect([value, values[at.offset]]).toEqual([value, value]);
      all.push(...values);
      const explicit = values.filter((value) => value.startsWith('explicit'));
      expect(explicit).toEqual(this.#explicit[partition]);
    }
    expect(all).toHaveLength(this.#sent);
    expect(new Set(all).size).toBe(this.#sent);
  }

  async #send(): Promise<void> {
    const records: OutgoingRecord[] = [];
    for (let partition = 0; partition < this.partitions; partition++) {
      const value = `explicit ${this.#sent++}`;
      this.#explicit[partition]?.push(value);
      records.push({ topic: this.topic, partition, value });
      records.push({ topic: this.topic, value: `keyless ${this.#sent++}` });
    }
    const written = await this.producer.send(records);
    written.forEach((at, index) => {
      this.acknowledged.push({ value: String(records[index]?.value), at });
    });
  }
}
