import type { OptionPath } from './options-builder.js';

export interface PropertyKey {
  readonly key: string;
  readonly to: OptionPath;
  readonly convert?: (value: unknown) => unknown;
}

const defaults = (...path: string[]): OptionPath => ['defaults', ...path];

/** Converts Spring's relaxed spelling: `manual-immediate`. */
const enumName = (value: unknown): unknown =>
  typeof value === 'string' ? value.replaceAll('-', '_').toUpperCase() : value;

const UNITS: Readonly<Record<string, number>> = { B: 1, KB: 2 ** 10, MB: 2 ** 20, GB: 2 ** 30 };

/** Parses Spring's notation of sizes: `16KB`. */
const bytes = (value: unknown): unknown => {
  const [, count, unit] = /^(\d+) *([KMG]?B)$/.exec(String(value).toUpperCase()) ?? [];
  return count === undefined ? value : Number(count) * (UNITS[unit ?? ''] ?? 1);
};

const lowerCase = (value: unknown): unknown =>
  typeof value === 'string' ? value.toLowerCase() : value;

/** Kafka's own keys, such as `max.poll.records`, below any `properties` section. */
const NATIVE: readonly PropertyKey[] = [
  { key: 'group.id', to: defaults('groupId') },
  { key: 'auto.offset.reset', to: defaults('offsetReset'), convert: lowerCase },
  { key: 'max.poll.records', to: defaults('maxPollRecords') },
  { key: 'max.poll.interval.ms', to: defaults('maxPollIntervalMs') },
  { key: 'session.timeout.ms', to: defaults('sessionTimeoutMs') },
  { key: 'heartbeat.interval.ms', to: defaults('heartbeatIntervalMs') },
  { key: 'fetch.max.wait.ms', to: defaults('pollTimeoutMs') },
  { key: 'schema.registry.url', to: defaults('schemaRegistry', 'url') },
  { key: 'spring.json.trusted.packages', to: defaults('typedJson', 'trustedPackages') },
];

const producer = (key: string): OptionPath => ['clusters', 'default', 'producer', key];

const NATIVE_OF_PRODUCERS: readonly PropertyKey[] = [
  { key: 'compression.type', to: producer('compression'), convert: lowerCase },
  { key: 'linger.ms', to: producer('lingerMs') },
  { key: 'batch.size', to: producer('batchBytes') },
  { key: 'buffer.memory', to: producer('bufferBytes') },
  { key: 'delivery.timeout.ms', to: producer('deliveryTimeoutMs') },
];

const prefixed = (prefix: string, keys: readonly PropertyKey[]): readonly PropertyKey[] =>
  keys.map((mapping) => ({ ...mapping, key: `${prefix}.${mapping.key}` }));

/** Maps Spring's keys to options. The keys of `messaging` are in messaging-keys.ts. */
export const PROPERTY_KEYS: readonly PropertyKey[] = [
  { key: 'spring.kafka.bootstrap-servers', to: ['brokers'] },
  { key: 'spring.kafka.consumer.bootstrap-servers', to: ['brokers'] },
  { key: 'spring.kafka.consumer.group-id', to: defaults('groupId') },
  {
    key: 'spring.kafka.consumer.auto-offset-reset',
    to: defaults('offsetReset'),
    convert: lowerCase,
  },
  { key: 'spring.kafka.consumer.max-poll-records', to: defaults('maxPollRecords') },
  { key: 'spring.kafka.consumer.heartbeat-interval', to: defaults('heartbeatIntervalMs') },
  { key: 'spring.kafka.consumer.fetch-max-wait', to: defaults('pollTimeoutMs') },
  { key: 'spring.kafka.listener.concurrency', to: defaults('concurrency') },
  { key: 'spring.kafka.listener.ack-mode', to: defaults('ackMode'), convert: enumName },
  { key: 'spring.kafka.listener.type', to: defaults('listenerType'), convert: enumName },
  { key: 'spring.kafka.listener.poll-timeout', to: defaults('pollTimeoutMs') },
  { key: 'spring.kafka.listener.idle-between-polls', to: defaults('idleBetweenPollsMs') },
  { key: 'spring.kafka.listener.auto-startup', to: defaults('autoStartup') },
  ...prefixed('spring.kafka.consumer.properties', NATIVE),
  {
    key: 'spring.kafka.producer.compression-type',
    to: producer('compression'),
    convert: lowerCase,
  },
  { key: 'spring.kafka.producer.batch-size', to: producer('batchBytes'), convert: bytes },
  { key: 'spring.kafka.producer.buffer-memory', to: producer('bufferBytes'), convert: bytes },
  ...prefixed('spring.kafka.producer.properties', NATIVE_OF_PRODUCERS),
  ...prefixed('spring.kafka.properties', [...NATIVE, ...NATIVE_OF_PRODUCERS]),
];

/** Reasons why a key has no option. The first matching prefix counts. */
export const PLACELESS_KEYS: readonly { readonly prefix: string; readonly reason: string }[] = [
  {
    prefix: 'spring.kafka.consumer.enable-auto-commit',
    reason: 'the event bus always commits by itself, and only completed records',
  },
  {
    prefix: 'spring.kafka.producer.acks',
    reason: 'every record is acknowledged by all in-sync replicas',
  },
  {
    prefix: 'spring.kafka.producer.retries',
    reason: 'attempts are not counted: clusters.default.producer.deliveryTimeoutMs ends them',
  },
  {
    prefix: 'spring.kafka.producer.properties.enable.idempotence',
    reason: 'the producer is always idempotent',
  },
  {
    prefix: 'spring.kafka.producer',
    reason: 'the event bus has no option for it',
  },
  {
    prefix: 'spring.kafka.ssl',
    reason:
      'TLS is not taken from properties: give clusters.default.ssl, else the connection is plain',
  },
  {
    prefix: 'spring.kafka.security',
    reason: 'it is not taken from properties: give clusters.default.ssl and sasl',
  },
  {
    prefix: 'spring.kafka.jaas',
    reason: 'it is not taken from properties: give clusters.default.sasl',
  },
  {
    prefix: 'spring.kafka.consumer',
    reason: 'the event bus has no option for it',
  },
];
