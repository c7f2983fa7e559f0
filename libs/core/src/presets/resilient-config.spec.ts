import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { complaintsOf } from '../config/configuration.spec-support.js';
import { resolveOptions } from '../config/resolving/resolve-options.js';
import { loadResilientConfig } from './resilient-config.js';

const MINIMAL = {
  KafkaConsumer: {
    TopicName: 'my-topic',
    ConsumerNumber: 1,
    GroupId: 'my-group',
    BootstrapServers: 'localhost:9092',
    Error: { TopicName: 'my-topic.error' },
  },
};

const FULL = {
  KafkaConsumer: {
    TopicName: 'orders',
    ConsumerNumber: 5,
    GroupId: 'order-service',
    SchemaRegistryUrl: 'http://registry:8081',
    BootstrapServers: 'k1:9092,k2:9092,k3:9092',
    Error: { TopicName: 'orders.dlq' },
    RetryPolicy: { Delay: 5_000, RetryAttempts: 5 },
  },
};

const resolved = (given: Parameters<typeof loadResilientConfig>[0]) =>
  resolveOptions({}, { loaders: [loadResilientConfig(given)] });

describe('loadResilientConfig()', () => {
  it('returns no retry topics for a minimal section', () => {
    const { bindings, clusters } = resolved(MINIMAL);
    expect(clusters['default']?.brokers).toEqual(['localhost:9092']);
    expect(bindings).toEqual([
      expect.objectContaining({
        name: 'my-topic',
        preset: 'resilient',
        topic: 'my-topic',
        groupId: 'my-group',
        concurrency: 1,
        retry: expect.objectContaining({
          tiers: [],
          tier0: expect.objectContaining({ maxAttempts: 1 }),
        }) as unknown,
        dlt: expect.objectContaining({ topic: 'my-topic.error' }) as unknown,
      }),
    ]);
  });

  it('returns one retry topic per attempt, each with the same delay', () => {
    const { bindings, clusters, unusedKeys } = resolved(FULL);
    expect(clusters['default']?.brokers).toEqual(['k1:9092', 'k2:9092', 'k3:9092']);
    expect(bindings[0]).toMatchObject({ concurrency: 5, dlt: { topic: 'orders.dlq' } });
    expect(bindings[0]?.retry.tiers).toEqual(
      [1, 2, 3, 4, 5].map((number) => ({
        number,
        topic: `orders.retry.${number}`,
        groupId: `order-service.retry-${number}`,
        delayMs: 5_000,
        multiplier: 1,
        maxDelayMs: 3_600_000,
        maxAttempts: 1,
        topicSuffix: 'retry.{n}',
        concurrency: 1,
      })),
    );
    expect(unusedKeys).toEqual([]);
  });

  it('chooses Avro with a schema registry, else JSON', () => {
    const { bindings } = resolved(FULL);
    expect(bindings[0]).toMatchObject({
      deserializer: 'avro',
      schemaRegistry: { url: 'http://registry:8081' },
    });
    const without = { ...FULL.KafkaConsumer, SchemaRegistryUrl: '' };
    expect(resolved(without).bindings[0]).toMatchObject({ deserializer: 'json' });
    expect(resolved(MINIMAL).bindings[0]).toMatchObject({ deserializer: 'json' });
  });

  it('names the error topic after the topic if none is given', () => {
    const { bindings } = resolved({ ...MINIMAL.KafkaConsumer, Error: undefined });
    expect(bindings[0]?.dlt.topic).toBe('my-topic.error');
  });

  it('uses the given binding name', () => {
    const { options } = loadResilientConfig(MINIMAL, { binding: 'mine' });
    expect(Object.keys(options.bindings ?? {})).toEqual(['mine']);
  });

  it('lists unknown keys as unused', () => {
    const { unused } = loadResilientConfig({
      ...MINIMAL.KafkaConsumer,
      Topic: 'x',
      RetryPolicy: { Attempts: 3 },
    });
    expect(unused.map(({ key }) => key)).toEqual([
      'KafkaConsumer.Topic',
      'KafkaConsumer.RetryPolicy.Attempts',
    ]);
  });

  it.each([
    [{ Delay: 5_000 }, ['KafkaConsumer.RetryPolicy.Delay']],
    [{ Delay: 5_000, RetryAttempts: 0 }, ['KafkaConsumer.RetryPolicy.Delay']],
    [{ Delay: 5_000, RetryAttempts: 1 }, []],
    [{ RetryAttempts: 0 }, []],
  ])('lists a delay without attempts as unused: %j', (RetryPolicy, keys) => {
    const { unused } = loadResilientConfig({ ...MINIMAL.KafkaConsumer, RetryPolicy });
    expect(unused.map(({ key }) => key)).toEqual(keys);
  });

  it.each<[unknown, string]>([
    [
      { RetryPolicy: { RetryAttempts: 'many', Delay: 1 } },
      "NUMBER KafkaConsumer.RetryPolicy.RetryAttempts: must be a whole number from 0 to 100: each attempt is a retry topic; got 'many'.",
    ],
    [
      { RetryPolicy: { RetryAttempts: 2 } },
      'REQUIRED KafkaConsumer.RetryPolicy.Delay: is missing: 2 retry topics need a delay. Add Delay: 5000 (milliseconds).',
    ],
    [{ RetryPolicy: 5 }, 'OBJECT KafkaConsumer.RetryPolicy: must be an object; got 5.'],
    [{ Error: 'orders.dlq' }, "OBJECT KafkaConsumer.Error: must be an object; got 'orders.dlq'."],
    [
      { KafkaConsumer: [] },
      'OBJECT KafkaConsumer: must be an object with the keys TopicName, ConsumerNumber, GroupId, BootstrapServers, SchemaRegistryUrl, Error, RetryPolicy; got an empty list.',
    ],
  ])('refuses %j', (given, message) => {
    expect(complaintsOf(() => loadResilientConfig(given as never))).toEqual([message]);
  });

  it('hands invalid values to the validator, under their own names', () => {
    const given = { ...MINIMAL.KafkaConsumer, ConsumerNumber: 0, GroupId: '' };
    expect(complaintsOf(() => resolved(given))).toEqual([
      "TEXT KafkaConsumer.bindings.my-topic.groupId: must be a text that is neither empty nor surrounded by white space; got ''.",
      'NUMBER KafkaConsumer.bindings.my-topic.concurrency: must be a whole number from 1 to 1000; got 0.',
    ]);
  });
});

describe('loadResilientConfig() with a file', () => {
  const folder = mkdtempSync(join(tmpdir(), 'eventbus-'));
  const file = (name: string, text: string): string => {
    writeFileSync(join(folder, name), text);
    return join(folder, name);
  };
  afterAll(() => rmSync(folder, { recursive: true }));

  it('reads it from its path', () => {
    const path = file('appsettings.json', JSON.stringify(FULL));
    expect(loadResilientConfig(path)).toEqual(loadResilientConfig(FULL));
  });

  it.each([
    ['missing.json', undefined, 'cannot be read'],
    ['broken.json', '{"KafkaConsumer": secret', 'is not JSON'],
  ])('reports an unreadable file without its content: %s', (name, text, why) => {
    const path = text === undefined ? join(folder, name) : file(name, text);
    const [complaint] = complaintsOf(() => loadResilientConfig(path));
    expect(complaint).toContain(why);
    expect(complaint).not.toContain('secret');
  });
});
