import type { OptionPath } from './options-builder.js';

export interface PropertyKey {
  readonly key: string;
  /** undefined: the key is understood, and its value is dealt with elsewhere. */
  readonly to: OptionPath | undefined;
  readonly convert?: (value: unknown) => unknown;
}

const defaults = (...path: string[]): OptionPath => ['defaults', ...path];

/** S3 counts the attempts after the first call; here the first call counts. */
const plusFirstCall = (value: unknown): unknown => (typeof value === 'number' ? value + 1 : value);

/** `manual-immediate`, as Spring's relaxed spelling has it. */
const enumName = (value: unknown): unknown =>
  typeof value === 'string' ? value.replaceAll('-', '_').toUpperCase() : value;

const lowerCase = (value: unknown): unknown =>
  typeof value === 'string' ? value.toLowerCase() : value;

/** `max.poll.records` and its like, below any `properties` section. */
const NATIVE: readonly PropertyKey[] = [
  { key: 'group.id', to: defaults('groupId') },
  { key: 'auto.offset.reset', to: defaults('offsetReset'), convert: lowerCase },
  { key: 'max.poll.records', to: defaults('maxPollRecords') },
  { key: 'max.poll.interval.ms', to: defaults('maxPollIntervalMs') },
  { key: 'session.timeout.ms', to: defaults('sessionTimeoutMs') },
  { key: 'heartbeat.interval.ms', to: defaults('heartbeatIntervalMs') },
  { key: 'fetch.max.wait.ms', to: defaults('pollTimeoutMs') },
];

const MESSAGING: readonly PropertyKey[] = [
  { key: 'consumer.concurrency', to: defaults('concurrency') },
  { key: 'consumer.max-poll-records', to: defaults('maxPollRecords') },
  { key: 'consumer.session-timeout-ms', to: defaults('sessionTimeoutMs') },
  { key: 'consumer.heartbeat-interval-ms', to: defaults('heartbeatIntervalMs') },
  {
    key: 'retry.max-attempts',
    to: defaults('retry', 'tier0', 'maxAttempts'),
    convert: plusFirstCall,
  },
  { key: 'retry.initial-interval-ms', to: defaults('retry', 'tier0', 'initialBackoffMs') },
  { key: 'retry.multiplier', to: defaults('retry', 'tier0', 'multiplier') },
  { key: 'retry.max-interval-ms', to: defaults('retry', 'tier0', 'maxBackoffMs') },
  { key: 'retry.retry-topics-enabled', to: undefined },
];

const under = (prefix: string, keys: readonly PropertyKey[]): readonly PropertyKey[] =>
  keys.map((mapping) => ({ ...mapping, key: `${prefix}.${mapping.key}` }));

/** What a key of the earlier system is called here. */
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
  ...under('spring.kafka.consumer.properties', NATIVE),
  ...under('spring.kafka.properties', NATIVE),
  { key: 'messaging.enabled', to: undefined },
  { key: 'messaging.kafka.enabled', to: undefined },
  ...under('messaging.kafka', MESSAGING),
  ...under('messaging', MESSAGING),
];

/** The first prefix that fits says why a key has no place. */
export const PLACELESS_KEYS: readonly { readonly prefix: string; readonly reason: string }[] = [
  {
    prefix: 'spring.kafka.consumer.enable-auto-commit',
    reason: 'the event bus always commits by itself, and only what is done',
  },
  {
    prefix: 'spring.kafka.producer',
    reason: 'it belongs to producers, which these options do not describe',
  },
  {
    prefix: 'messaging.kafka.producer',
    reason: 'it belongs to producers, which these options do not describe',
  },
  {
    prefix: 'messaging.producer',
    reason: 'it belongs to producers, which these options do not describe',
  },
  {
    prefix: 'messaging.rabbitmq',
    reason: 'it belongs to RabbitMQ, which these options do not describe',
  },
  ...[
    'topic-prefix',
    'default-partitions',
    'default-replication-factor',
    'default-retention-ms',
  ].map((key) => ({
    prefix: `messaging.kafka.${key}`,
    reason: 'it belongs to the creation of topics, which these options do not describe',
  })),
  { prefix: 'messaging.default-broker', reason: 'the event bus reads from Kafka only' },
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
