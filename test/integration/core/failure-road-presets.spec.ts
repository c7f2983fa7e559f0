import { readDeadLetter } from '@nest-event-bus/core';
import { describeWithKafka } from '../support/index.js';
import { OrdersStage, type Properties } from './orders-stage.js';

const DAY_MS = 86_400_000;

interface Case {
  readonly properties: Properties;
  readonly calls: number;
  readonly retryTopics: readonly string[];
  readonly deadLetterTopic: string;
  /** Headers that a dead letter has. */
  readonly headers: readonly string[];
  readonly others: RegExp;
}

const quickly = { tier0: { initialBackoffMs: 50 } };

const CASES: Readonly<Record<string, Case>> = {
  strategy: {
    properties: { preset: 'strategy', retry: quickly },
    calls: 4,
    retryTopics: [],
    deadLetterTopic: '.DLT',
    headers: ['kafka_dlt-original-topic', 'kafka_dlt-exception-fqcn', 'x-eventbus-dlt-reason'],
    others: /^(x-eventbus-last-|original-)/,
  },
  brokers: {
    properties: { preset: 'brokers', retry: quickly },
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

describeWithKafka('on a real Kafka', (kafka) => {
  let stage: OrdersStage;
  beforeEach(() => {
    stage = new OrdersStage(kafka.brokers);
  });
  afterEach(() => stage.end());

  const topicNames = async (): Promise<readonly string[]> => {
    const topics = await stage.admin.topics();
    return topics.map(({ name }) => name).filter((name) => name.startsWith(stage.topic));
  };

  it.each(Object.entries(CASES))(
    'the preset %s has its calls, its topics and its headers',
    async (_name, { properties, calls, retryTopics, deadLetterTopic, headers, others }) => {
      await stage.start({ provisioning: 'create', ...properties });
      const full = [stage.topic, ...[...retryTopics, deadLetterTopic].map((s) => stage.topic + s)];
      await stage.until(
        'the topics to be created',
        async () => (await topicNames()).length === full.length,
      );
      expect((await topicNames()).toSorted()).toEqual(full.toSorted());
      await stage.write('1');
      const letter = await stage.until(
        'the dead letter',
        async () => (await stage.records(stage.topic + deadLetterTopic))[0],
      );
      expect(stage.calls).toHaveLength(calls);
      for (const suffix of retryTopics)
        expect(await stage.records(stage.topic + suffix)).toHaveLength(1);
      const names = letter.headers.map(({ key }) => key);
      expect(names).toEqual(expect.arrayContaining([...headers]));
      expect(names.filter((name) => others.test(name))).toEqual([]);
      expect(readDeadLetter(letter)).toMatchObject({
        originalTopic: stage.topic,
        dltReason: 'RETRIES_EXHAUSTED',
        totalAttempts: calls,
        lastExceptionClass: 'Error',
      });
    },
    30_000,
  );

  it('the five plain headers tell of the failure, beside what the record came with', async () => {
    const { topic } = stage;
    const retry = { tier0: { maxAttempts: 3, initialBackoffMs: 10 }, tiers: [] };
    const dlt = { headerProfile: ['plain'] } as const;
    await stage.createTopics();
    const before = Date.now();
    await stage.start({ retry, dlt });
    await stage.write('1');
    const letter = await stage.until(
      'the dead letter',
      async () => (await stage.records(stage.deadLetterTopic))[0],
    );
    const plain = letter.headers.filter(({ key }) => !key.startsWith('x-eventbus-'));
    const told = Object.fromEntries(plain.map(({ key, value }) => [key, String(value)]));
    expect(told).toEqual({
      'original-topic': topic,
      'exception-message': expect.any(String),
      'exception-class': 'Error',
      'failure-timestamp': expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      'retry-count': '2',
    });
    expect(told['exception-message']).not.toBe('');
    expect(Date.parse(told['failure-timestamp']!)).toBeGreaterThanOrEqual(before);
  }, 30_000);

  it("provisioning: 'create' makes the topics as they are to be, once, however many start together", async () => {
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
    await Promise.all([stage.start(properties), stage.start(properties)]);
    const shapeOf = async (name: string) => {
      const [topic] = await stage.admin.topics([name]);
      const { 'retention.ms': retention } = await stage.admin.topicConfig(name);
      return { partitions: topic?.partitions.length, days: Number(retention) / DAY_MS };
    };
    await stage.until('all to be created', async () => (await topicNames()).length === 3);
    expect(await shapeOf(stage.topic)).toEqual({ partitions: 3, days: 2 });
    expect(await shapeOf(stage.retryTopic(1))).toEqual({ partitions: 3, days: 1 });
    expect(await shapeOf(stage.deadLetterTopic)).toEqual({ partitions: 1, days: 30 });

    await Promise.all([0, 1, 2].map((partition) => stage.writeTo(partition, '1')));
    await stage.until('the dead letters', async () => (await stage.letters()).length === 3);
    expect(stage.calls).toHaveLength(6);
    // What waits for its topics says so; nobody says that they could not be created, or exist.
    expect(stage.said.filter((line) => /create|exist/i.test(line))).toEqual([]);
  }, 30_000);
});
