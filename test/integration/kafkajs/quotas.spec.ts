import net from 'node:net';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { Cluster, CONTROL_CHANNEL, defineRequest } from '../../../libs/broker/src/wire/index.js';
import { describeWithKafka, type SharedKafka } from '../support/index.js';
import { ignore } from './secured-clients.js';

/**
 * Kafka measures the quota over 10 s. 260 KB at once exceed it by a third, so the broker throttles
 * the client for about 3 s.
 */
const BYTES_PER_SECOND = 20_000;
const BURST = Array.from({ length: 26 }, () => Buffer.alloc(10_000, 'x'));
const SHORTER_THAN_THROTTLE_MS = 1_000;

const asFloat64 = (value: number): Buffer => {
  const bytes = Buffer.alloc(8);
  bytes.writeDoubleBE(value);
  return bytes;
};

/** The request AlterClientQuotas, which only this test needs. */
const quotaOf = (clientId: string, quota: string) =>
  defineRequest({
    apiKey: 49,
    apiName: 'AlterClientQuotas',
    versions: [0],
    write: (writer) =>
      writer
        .array([clientId], (name) =>
          writer
            .array([name], () => writer.string('client-id').nullableString(name))
            .array([quota], () =>
              writer.string(quota).raw(asFloat64(BYTES_PER_SECOND)).boolean(false),
            ),
        )
        .boolean(false),
    read: (reader) => {
      reader.int32();
      return reader.array(() => reader.int16());
    },
  });

async function limit(kafka: SharedKafka, clientId: string, quota: string): Promise<void> {
  const options = { connectionTimeoutMs: 1_000, requestTimeoutMs: 5_000, runtime: realRuntime };
  const cluster = new Cluster({ brokers: kafka.brokers, clientId: 'quotas', ...options });
  try {
    const codes = await cluster.request('any', CONTROL_CHANNEL, quotaOf(clientId, quota));
    expect(codes).toEqual([0]);
  } finally {
    cluster.close();
  }
}

describeWithKafka('a client over its quota', (kafka) => {
  const free = kafkajs({ brokers: kafka.brokers });
  afterAll(() => free.close());
  afterEach(() => jest.restoreAllMocks());

  async function limited(quota: string) {
    const topic = kafka.unique('limited');
    await free.admin().createTopics([{ name: topic, partitions: 1 }]);
    const clientId = kafka.unique('client');
    await limit(kafka, clientId, quota);
    const requestTimeoutMs = SHORTER_THAN_THROTTLE_MS;
    const driver = kafkajs({ brokers: kafka.brokers, clientId, requestTimeoutMs });
    return { driver, topic };
  }

  it('waits for the throttle time when it reads, without a timeout, a new connection or a lost record', async () => {
    const { driver, topic } = await limited('consumer_byte_rate');
    // Sends one batch per record, because the broker never returns a single batch above the quota.
    for (const value of BURST) await free.producer().send([{ topic, value }]);
    const consumer = driver.consumer({
      groupId: kafka.unique('readers'),
      topics: [topic],
      fetch: { maxWaitMs: 100 },
    });
    await consumer.start({ onAssigned: ignore, onRevoked: ignore, onLost: ignore });
    const changes: string[] = [];
    consumer.onStatus(({ state }) => changes.push(state));
    const connecting = jest.spyOn(net, 'connect');
    const startedAt = realRuntime.monotonic();
    let read = 0;
    let connected = 0;
    while (read < BURST.length) {
      read += (await consumer.poll(100, AbortSignal.timeout(30_000))).length;
      connected ||= connecting.mock.calls.length;
    }
    expect(realRuntime.monotonic() - startedAt).toBeGreaterThan(2 * SHORTER_THAN_THROTTLE_MS);
    expect(changes).toEqual([]);
    // All connections were opened before the first records arrived.
    expect(connecting).toHaveBeenCalledTimes(connected);
    await driver.close();
  });

  it('waits for the throttle time when it writes, without a timeout or a new connection', async () => {
    const { driver, topic } = await limited('producer_byte_rate');
    const producer = driver.producer({ requestTimeoutMs: SHORTER_THAN_THROTTLE_MS });
    await producer.send(BURST.map((value) => ({ topic, value })));
    const connecting = jest.spyOn(net, 'connect');
    const sentAt = realRuntime.monotonic();
    expect(await producer.send([{ topic, value: 'after the rest' }])).toMatchObject([
      { offset: BURST.length },
    ]);
    expect(realRuntime.monotonic() - sentAt).toBeGreaterThan(2 * SHORTER_THAN_THROTTLE_MS);
    expect(connecting).not.toHaveBeenCalled();
    await driver.close();
  });
});
