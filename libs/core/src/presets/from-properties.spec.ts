import { complaintsOf } from '../config/configuration.spec-support.js';
import { resolveOptions } from '../config/resolving/resolve-options.js';
import { fromProperties } from './from-properties.js';
import { MESSAGING_DEFAULTS } from './messaging-properties.js';
import { parseProperties } from './properties-text.js';

const REFERENCE = `
# Kafka
spring.kafka.bootstrap-servers=kafka-1:9092,kafka-2:9092
spring.kafka.consumer.group-id=documents
spring.kafka.consumer.auto-offset-reset=earliest
spring.kafka.consumer.enable-auto-commit=false
spring.kafka.producer.acks=all
spring.kafka.listener.ack-mode=manual-immediate

messaging.enabled=true
messaging.default-broker=KAFKA
messaging.kafka.enabled=true
messaging.kafka.topic-prefix=unraveldocs
messaging.kafka.default-partitions=3
messaging.kafka.default-replication-factor=1
messaging.kafka.default-retention-ms=604800000
messaging.kafka.consumer.concurrency=4
messaging.kafka.consumer.maxPollRecords=250
messaging.kafka.consumer.session-timeout-ms=36000
messaging.kafka.consumer.heartbeat-interval-ms=12000
messaging.kafka.producer.send-timeout-seconds=30
messaging.kafka.producer.transactional-enabled=false
messaging.kafka.retry.max-attempts=5
messaging.kafka.retry.initial-interval-ms=500
messaging.kafka.retry.multiplier=3.0
messaging.kafka.retry.max-interval-ms=20000
messaging.kafka.retry.retry-topics-enabled=true
messaging.rabbitmq.enabled=false
messaging.rabbitmq.exchange-prefix=unraveldocs
`;

describe('fromProperties()', () => {
  const { options, unused } = fromProperties(REFERENCE);

  it('converts properties to options whose maxAttempts include the first call', () => {
    expect(options).toEqual({
      enabled: 'if-configured',
      brokers: 'kafka-1:9092,kafka-2:9092',
      defaults: {
        preset: 'brokers',
        groupId: 'documents',
        offsetReset: 'earliest',
        ackMode: 'MANUAL_IMMEDIATE',
        concurrency: 4,
        maxPollRecords: 250,
        sessionTimeoutMs: 36_000,
        heartbeatIntervalMs: 12_000,
        retry: {
          tier0: {
            maxAttempts: 6,
            initialBackoffMs: 500,
            multiplier: 3,
            maxBackoffMs: 20_000,
            // The longest interval times the five attempts after the first call.
            maxElapsedMs: 100_000,
          },
          tiers: [{ delayMs: 500, maxAttempts: 5, topicSuffix: '-retry' }],
        },
      },
    });
  });

  it('returns options that pass validation', () => {
    const loaded = { options, unused, source: 'properties' };
    const bindings = { emails: { topic: 'unraveldocs-emails' } as never };
    const { bindings: resolved, enabled } = resolveOptions({ bindings }, { loaders: [loaded] });
    expect(enabled).toBe('enabled');
    expect(resolved[0]).toMatchObject({
      groupId: 'documents',
      concurrency: 4,
      dlt: { topic: 'unraveldocs-emails-dlq', headerProfile: ['plain'] },
      retry: {
        mode: 'seek',
        tier0: { maxAttempts: 6 },
        tiers: [{ topic: 'unraveldocs-emails-retry' }],
      },
    });
  });

  it('lists each property without an option together with the reason', () => {
    const messaging = 'only the messaging package reads it, through loadMessagingProperties:';
    const producers = `${messaging} it belongs to producers`;
    const topics = `${messaging} it belongs to the creation of topics`;
    const rabbit = `${messaging} it belongs to RabbitMQ`;
    expect(unused.map(({ key, reason }) => [key, reason])).toEqual([
      [
        'spring.kafka.consumer.enable-auto-commit',
        'the event bus always commits by itself, and only completed records',
      ],
      ['spring.kafka.producer.acks', 'every record is acknowledged by all in-sync replicas'],
      [
        'messaging.default-broker',
        `${messaging} it belongs to the choice of a producer; the event bus reads from Kafka only`,
      ],
      ['messaging.kafka.topic-prefix', topics],
      ['messaging.kafka.default-partitions', topics],
      ['messaging.kafka.default-replication-factor', topics],
      ['messaging.kafka.default-retention-ms', topics],
      ['messaging.kafka.producer.send-timeout-seconds', producers],
      ['messaging.kafka.producer.transactional-enabled', producers],
      ['messaging.rabbitmq.enabled', rabbit],
      ['messaging.rabbitmq.exchange-prefix', rabbit],
    ]);
  });

  it('uses the preset and the group id of the messaging package if none is set', () => {
    const { options: few } = fromProperties({ 'spring.kafka.bootstrap-servers': 'a:1' });
    expect(few).toEqual({
      enabled: 'if-configured',
      brokers: 'a:1',
      defaults: { preset: 'brokers', groupId: 'unraveldocs-group' },
    });
  });

  it.each<[Record<string, string | boolean>, string]>([
    [{}, 'unconfigured'],
    [{ 'spring.kafka.bootstrap-servers': '' }, 'unconfigured'],
    [{ 'spring.kafka.bootstrap-servers': 'a:1' }, 'enabled'],
    [{ 'spring.kafka.bootstrap-servers': 'a:1', 'messaging.enabled': false }, 'disabled'],
    [{ 'spring.kafka.bootstrap-servers': 'a:1', 'messaging.kafka.enabled': 'false' }, 'disabled'],
  ])('%j makes the bus %s', (properties, enabled) => {
    expect(resolveOptions(fromProperties(properties).options).enabled).toBe(enabled);
  });

  it('converts every property of the reference, or lists it as unused', () => {
    expect(unused.filter(({ reason }) => reason === 'no option has this name')).toEqual([]);
  });

  it('disables the bus without bootstrap servers, even if properties enable it', () => {
    const rest = REFERENCE.replace(/^spring\.kafka\.bootstrap-servers=.*$/m, '');
    const loaded = fromProperties(rest);
    expect(loaded.options.enabled).toBe('if-configured');
    expect(loaded.options).not.toHaveProperty('brokers');
    expect(resolveOptions(loaded.options).enabled).toBe('unconfigured');
  });

  it('reports all boolean properties that are neither true nor false in one error', () => {
    const run = () =>
      fromProperties({
        'messaging.enabled': 'no',
        'messaging.kafka.retry.retry-topics-enabled': 'yes',
      });
    expect(complaintsOf(run)).toEqual([
      "FLAG properties.messaging.enabled: must be true or false; got 'no'.",
      "FLAG properties.messaging.kafka.retry.retry-topics-enabled: must be true or false; got 'yes'.",
    ]);
  });

  it('refuses one property under two names', () => {
    const run = () =>
      fromProperties({
        'messaging.consumer.concurrency': 2,
        'messaging.kafka.consumer.concurrency': 3,
      });
    expect(complaintsOf(run)).toEqual([
      "KEY_TWICE messaging.kafka.consumer.concurrency: is given twice, the first time as 'messaging.consumer.concurrency'. Remove one of them.",
    ]);
  });

  it('adds a retry topic only if the properties enable it', () => {
    const key = 'messaging.kafka.retry.retry-topics-enabled';
    const tiers = (value: string) =>
      fromProperties({ [key]: value }).options.defaults?.retry?.tiers;
    expect(tiers('false')).toEqual([]);
    expect(tiers('')).toBeUndefined();
    const { initialIntervalMs, maxAttempts } = MESSAGING_DEFAULTS.retry;
    expect(tiers('true')).toEqual([
      { delayMs: initialIntervalMs, maxAttempts, topicSuffix: '-retry' },
    ]);
  });

  it("accepts the names of Kafka's client below `properties`", () => {
    const native = {
      'spring.kafka.consumer.properties.session.timeout.ms': '30000',
      'spring.kafka.consumer.properties.max.poll.interval.ms': 300_000,
      'spring.kafka.properties.heartbeat.interval.ms': '3000',
      'spring.kafka.consumer.heartbeat-interval': '3s',
      'spring.kafka.listener.type': 'batch',
      'spring.kafka.properties.schema.registry.url': 'http://registry:8081',
      'spring.kafka.consumer.properties.spring.json.trusted.packages': 'com.shop,com.shop.*',
      'spring.kafka.unheard-of': 'x',
    };
    const loaded = fromProperties(native);
    expect(loaded.options.defaults).toMatchObject({
      sessionTimeoutMs: 30_000,
      maxPollIntervalMs: 300_000,
      heartbeatIntervalMs: '3s',
      listenerType: 'BATCH',
      schemaRegistry: { url: 'http://registry:8081' },
      typedJson: { trustedPackages: ['com.shop', 'com.shop.*'] },
    });
    expect(loaded.unused).toEqual([
      { source: 'properties', key: 'spring.kafka.unheard-of', reason: 'no option has this name' },
    ]);
  });
});

describe('fromProperties() for the producer', () => {
  const producerOf = (properties: Record<string, string>) =>
    resolveOptions(
      fromProperties({ 'spring.kafka.bootstrap-servers': 'a:1', ...properties }).options,
    ).clusters['default']?.producer;

  it('converts the producer properties to options', () => {
    expect(
      producerOf({
        'spring.kafka.producer.compression-type': 'snappy',
        'spring.kafka.producer.batch-size': '16384',
        'spring.kafka.producer.buffer-memory': '64MB',
        'spring.kafka.producer.properties.linger.ms': '20',
        'spring.kafka.properties.delivery.timeout.ms': '30000',
      }),
    ).toEqual({
      compression: 'snappy',
      lingerMs: 20,
      batchBytes: 16_384,
      bufferBytes: 64 * 1024 * 1024,
      deliveryTimeoutMs: 30_000,
    });
  });

  it('reads sizes only with their units', () => {
    const size = (text: string) =>
      producerOf({ 'spring.kafka.producer.batch-size': text })?.batchBytes;
    expect(['512B', '32KB', '1 mb'].map(size)).toEqual([512, 32_768, 1_048_576]);
    expect(() => size('32 apples')).toThrow(/clusters\.default\.producer\.batchBytes/);
  });

  it('lists retries, idempotence and acks as unused, because the producer fixes them', () => {
    const keys = ['acks', 'retries', 'properties.enable.idempotence', 'transaction-id-prefix'];
    const { unused } = fromProperties(
      Object.fromEntries(keys.map((key) => [`spring.kafka.producer.${key}`, '1'])),
    );
    expect(unused.map(({ reason }) => reason)).toEqual([
      'every record is acknowledged by all in-sync replicas',
      'attempts are not counted: clusters.default.producer.deliveryTimeoutMs ends them',
      'the producer is always idempotent',
      'the event bus has no option for it',
    ]);
  });
});

describe('parseProperties()', () => {
  it('reads a .properties file as Java does', () => {
    const text = [
      '# comment',
      '! comment',
      '',
      'a=1',
      '  b : 2 ',
      'c 3',
      'd=one,\\',
      '    two',
      'e\\=f=x\\u0041\\n',
      'empty=',
      'path=C:\\\\kafka',
      'url=http://x:1/?a=b',
    ].join('\r\n');
    expect(parseProperties(text)).toEqual({
      a: '1',
      b: '2',
      c: '3',
      d: 'one,two',
      'e=f': 'xA',
      empty: '',
      path: 'C:\\kafka',
      url: 'http://x:1/?a=b',
    });
  });
});
