import { eventually } from '@nest-event-bus/testing';
import { ConfigResourceTypes } from 'kafkajs';
import { describeWithCluster } from '../support/index.js';
import { createTopic, plainClient, readAll, write } from './plain-client.js';

const options = { proxied: true, settings: { 'message.max.bytes': '2000000' } } as const;

describeWithCluster('A cluster of one broker', options, (cluster) => {
  it('runs with the settings of a test broker', async () => {
    const admin = plainClient(cluster().brokers).admin();
    await admin.connect();
    try {
      const { resources } = await admin.describeConfigs({
        includeSynonyms: false,
        resources: [{ type: ConfigResourceTypes.BROKER, name: '0' }],
      });
      const entries = resources[0]?.configEntries ?? [];
      expect(
        Object.fromEntries(entries.map((entry) => [entry.configName, entry.configValue])),
      ).toMatchObject({
        'auto.create.topics.enable': 'false',
        'group.initial.rebalance.delay.ms': '0',
        'group.min.session.timeout.ms': '500',
        'group.consumer.session.timeout.ms': '1000',
        'broker.session.timeout.ms': '2000',
        'message.max.bytes': '2000000',
      });
    } finally {
      await admin.disconnect();
    }
  });

  it('keeps its data and its address through a kill', async () => {
    const client = plainClient(cluster().brokers);
    const topic = await createTopic(client);
    await write(client, topic, 'before');
    const { brokers } = cluster();
    await cluster().kill(0);
    await expect(plainAdmin(1_000)).rejects.toThrow();
    await cluster().restart(0);
    expect(cluster().brokers).toEqual(brokers);
    await write(client, topic, 'after');
    await expect(readAll(client, topic, 2)).resolves.toEqual(['before', 'after']);
  });

  it('shuts down in order, and restarts', async () => {
    const client = plainClient(cluster().brokers);
    const topic = await createTopic(client);
    await write(client, topic, 'before');
    await cluster().shutDown(0);
    await cluster().restart(0);
    await expect(readAll(client, topic, 1)).resolves.toEqual(['before']);
  });

  it('answers nothing while frozen, on open connections, and continues afterwards', async () => {
    const admin = plainClient(cluster().brokers).admin();
    await admin.connect();
    try {
      await admin.listTopics();
      cluster().freeze(0);
      let answered = false;
      const answer = admin.listTopics().finally(() => (answered = true));
      await expect(plainAdmin(1_000)).rejects.toThrow();
      expect(answered).toBe(false);
      cluster().thaw(0);
      await expect(answer).resolves.toEqual(expect.any(Array));
    } finally {
      await admin.disconnect();
    }
  });

  it('reports the existing brokers if another one is requested', async () => {
    await expect(cluster().kill(1)).rejects.toThrow(
      'There is no broker 1: they are counted 0 to 0.',
    );
  });

  describe('behind its proxy', () => {
    it('serves a client that stays behind the proxy after bootstrapping', async () => {
      const [proxy] = cluster().proxies;
      const before = proxy?.bytes.toServer.forwarded ?? 0;
      const client = plainClient(cluster().proxiedBrokers);
      const topic = await createTopic(client);
      await write(client, topic, 'x'.repeat(100_000));
      expect(proxy?.bytes.toServer.forwarded).toBeGreaterThan(before + 100_000);
    });

    it('executes requests whose answers the proxy drops', async () => {
      const [proxy] = cluster().proxies;
      const direct = plainClient(cluster().brokers);
      const topic = await createTopic(direct);
      const producer = plainClient(cluster().proxiedBrokers).producer({ retry: { retries: 0 } });
      await producer.connect();
      await producer.send({ topic, messages: [{ value: 'first' }] });
      proxy?.swallow('toClient');
      const sending = producer.send({ topic, messages: [{ value: 'second' }] });
      await expect(sending).rejects.toThrow();
      proxy?.forward();
      await expect(readAll(direct, topic, 2)).resolves.toEqual(['first', 'second']);
      await producer.disconnect();
    });

    it('serves a client again after its connections were cut', async () => {
      const [proxy] = cluster().proxies;
      const client = plainClient(cluster().proxiedBrokers);
      const topic = await createTopic(client);
      const producer = client.producer();
      await producer.connect();
      await producer.send({ topic, messages: [{ value: 'first' }] });
      proxy?.cut();
      await eventually(() => proxy?.openConnections === 0, { description: 'no connection' });
      await producer.send({ topic, messages: [{ value: 'second' }] });
      await producer.disconnect();
      await expect(readAll(client, topic, 2)).resolves.toEqual(['first', 'second']);
    });
  });

  /** Connects a new client with a short timeout; rejects if nothing answers. */
  async function plainAdmin(requestTimeout: number): Promise<void> {
    const { Kafka, logLevel } = await import('kafkajs');
    const admin = new Kafka({
      brokers: [...cluster().brokers],
      logLevel: logLevel.NOTHING,
      connectionTimeout: requestTimeout,
      requestTimeout,
      retry: { retries: 0 },
    }).admin();
    await admin.connect();
    await admin.disconnect();
  }
});
