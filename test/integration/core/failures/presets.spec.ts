import { readDeadLetter } from '@nest-event-bus/core';
import { describeWithKafka } from '../../support/index.js';
import { OrdersTestBus, type Properties } from '../support/orders-test-bus.js';

const DAY_MS = 86_400_000;

interface Case {
  readonly properties: Properties;
  readonly calls: number;
  readonly retryTopics: readonly string[];
  readonly deadLetterTopic: string;
  /** Headers that a dead letter must have. */
  readonly headers: readonly string[];
  readonly others: RegExp;
}

const shortDelays = { tier0: { initialBackoffMs: 50 } };

const CASES: Readonly<Record<string, Case>> = {
  strategy: {
    properties: { preset: 'strategy', retry: shortDelays },
    calls: 4,
    retryTopics: [],
    deadLetterTopic: '.DLT',
    headers: ['kafka_dlt-original-topic', 'kafka_dlt-exception-fqcn', 'x-eventbus-dlt-reason'],
    others: /^(x-eventbus-last-|original-)/,
  },
  brokers: {
    properties: { preset: 'brokers', retry: shortDelays },
    calls: 4,
    retryTopics: [],
    deadLetterTopic: '-dlq',
    headers: [
      'original-topic',
      'exception-message',
      'exception-class',
      'failure-timestamp',
      'retry-count',
      'x-eventbus-dlt-reason',
    ],
    others: /^(x-eventbus-last-|kafka_dlt-)/,
  },
  resilient: {
    properties: { preset: 'resilient', retry: { tiers: [{ delayMs: 200 }, { delayMs: 200 }] } },
    calls: 3,
    retryTopics: ['.retry.1', '.retry.2'],
    deadLetterTopic: '.error',
    headers: ['x-eventbus-original-topic', 'x-eventbus-last-exception-class'],
    others: /^(kafka_dlt-|original-)/,
  },
};

describeWithKafka('Presets and provisioning on a real Kafka', (kafka) => {
  let testBus: OrdersTestBus;
  beforeEach(() => {
    testBus = new OrdersTestBus(kafka.brokers);
  });
  afterEach(() => testBus.end());

  const topicNames = async (): Promise<readonly string[]> => {
    const topics = await testBus.admin.topics();
    return topics.map(({ name }) => name).filter((name) => name.startsWith(testBus.topic));
  };

  it.each(Object.entries(CASES))(
    'preset %s makes the documented calls, and uses the documented topics and headers',
    async (_name, { properties, calls, retryTopics, deadLetterTopic, headers, others }) => {
      await testBus.start({ provisioning: 'create', ...properties });
      const full = [
        testBus.topic,
        ...[...retryTopics, deadLetterTopic].map((s) => testBus.topic + s),
      ];
      await testBus.until(
        'the topics to be created',
        async () => (await topicNames()).length === full.length,
      );
      expect((await topicNames()).toSorted()).toEqual(full.toSorted());
      await testBus.write('1');
      const letter = await testBus.until(
        'the dead letter',
        async () => (await testBus.records(testBus.topic + deadLetterTopic))[0],
      );
      expect(testBus.calls).toHaveLength(calls);
      for (const suffix of retryTopics)
        expect(await testBus.records(testBus.topic + suffix)).toHaveLength(1);
      const names = letter.headers.map(({ key }) => key);
      expect(names).toEqual(expect.arrayContaining([...headers]));
      expect(names.filter((name) => others.test(name))).toEqual([]);
      expect(readDeadLetter(letter)).toMatchObject({
        originalTopic: testBus.topic,
        dltReason: 'RETRIES_EXHAUSTED',
        totalAttempts: calls,
        lastExceptionClass: 'Error',
      });
    },
    30_000,
  );

  it("headerProfile 'plain' adds five headers about the failure to the original headers", async () => {
    const { topic } = testBus;
    const retry = { tier0: { maxAttempts: 3, initialBackoffMs: 10 }, tiers: [] };
    const dlt = { headerProfile: ['plain'] } as const;
    await testBus.createTopics();
    const before = Date.now();
    await testBus.start({ retry, dlt });
    await testBus.write('1');
    const letter = await testBus.until(
      'the dead letter',
      async () => (await testBus.records(testBus.deadLetterTopic))[0],
    );
    const plain = letter.headers.filter(({ key }) => !key.startsWith('x-eventbus-'));
    const failureHeaders = Object.fromEntries(plain.map(({ key, value }) => [key, String(value)]));
    expect(failureHeaders).toEqual({
      'original-topic': topic,
      'exception-message': expect.any(String),
      'exception-class': 'Error',
      'failure-timestamp': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      'retry-count': '2',
    });
    expect(failureHeaders['exception-message']).not.toBe('');
    expect(Date.parse(failureHeaders['failure-timestamp']!)).toBeGreaterThanOrEqual(before);
  }, 180_000);

  it("provisioning: 'create' creates the topics once if several applications start at the same time", async () => {
    const properties: Properties = {
      provisioning: 'create',
      retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 100, maxAttempts: 1 }] },
      topics: {
        partitions: 3,
        retentionDays: 2,
        retry: { retentionDays: 1 },
        dlt: { partitions: 1, retentionDays: 30 },
      },
    };
    await Promise.all([testBus.start(properties), testBus.start(properties)]);
    const shapeOf = async (name: string) => {
      const [topic] = await testBus.admin.topics([name]);
      const { 'retention.ms': retention } = await testBus.admin.topicConfig(name);
      return { partitions: topic?.partitions.length, days: Number(retention) / DAY_MS };
    };
    await testBus.until('all to be created', async () => (await topicNames()).length === 3);
    expect(await shapeOf(testBus.topic)).toEqual({ partitions: 3, days: 2 });
    expect(await shapeOf(testBus.retryTopic(1))).toEqual({ partitions: 3, days: 1 });
    expect(await shapeOf(testBus.deadLetterTopic)).toEqual({ partitions: 1, days: 30 });

    await Promise.all([0, 1, 2].map((partition) => testBus.writeTo(partition, '1')));
    await testBus.until('the dead letters', async () => (await testBus.letters()).length === 3);
    expect(testBus.calls).toHaveLength(6);
    // The log may mention missing topics, but neither a failed creation nor the creation of an
    // existing topic.
    expect(testBus.logLines.filter((line) => /create|exist/i.test(line))).toEqual([]);
  }, 180_000);
});
