import type { PlainObject } from '../config/reading/plain-object.js';

export interface FieldCase {
  readonly id: string;
  /** Path in MessagingProperties. */
  readonly path: string;
  /** Key in a .properties file. */
  readonly key: string;
  /** Default of S3. */
  readonly default: unknown;
  readonly other: string | number | boolean;
  readonly invalid: unknown;
  /** Option of the event bus, and its value for `other`. Left out if only messaging reads the field. */
  readonly option?: { readonly path: string; readonly value: unknown };
}

const field = (
  id: string,
  path: string,
  key: string,
  [byDefault, other, invalid]: readonly [unknown, FieldCase['other'], unknown],
  option?: readonly [path: string, value: unknown],
): FieldCase => ({
  id: `S3-5.1-${id}`,
  path,
  key: `messaging.${key}`,
  default: byDefault,
  other,
  invalid,
  ...(option && { option: { path: option[0], value: option[1] } }),
});

const PREFIX = 'unraveldocs';
const TIER0 = 'defaults.retry.tier0';
const CONSUMER = 'kafka.consumer';
const PRODUCER = 'kafka.producer';

/** S3's reference of `messaging.*`, written independently of the code, so that the specs can compare both. */
export const FIELD_CASES: readonly FieldCase[] = [
  field('01', 'defaultBroker', 'default-broker', ['KAFKA', 'RABBITMQ', 'KAFKAA']),
  field('02', 'enabled', 'enabled', [true, false, 1], ['enabled', false]),
  field('03', 'kafka.enabled', 'kafka.enabled', [true, false, 'on'], ['enabled', false]),
  field('04', 'kafka.topicPrefix', 'kafka.topic-prefix', [PREFIX, 'shop', 'a b']),
  field('05', 'kafka.defaultPartitions', 'kafka.default-partitions', [3, 6, 0]),
  field('06', 'kafka.defaultReplicationFactor', 'kafka.default-replication-factor', [1, 3, 40_000]),
  // 30 days, as for S3's payments topic: longer than the limit of a timer.
  field(
    '07',
    'kafka.defaultRetentionMs',
    'kafka.default-retention-ms',
    [604_800_000, 2_592_000_000, -2],
  ),
  field(
    '08',
    'consumer.concurrency',
    `${CONSUMER}.concurrency`,
    [3, 4, 0],
    ['defaults.concurrency', 4],
  ),
  field(
    '09',
    'consumer.maxPollRecords',
    `${CONSUMER}.max-poll-records`,
    [500, 250, 1.5],
    ['defaults.maxPollRecords', 250],
  ),
  field(
    '10',
    'consumer.sessionTimeoutMs',
    `${CONSUMER}.session-timeout-ms`,
    [30_000, 45_000, 'soon'],
    ['defaults.sessionTimeoutMs', 45_000],
  ),
  field(
    '11',
    'consumer.heartbeatIntervalMs',
    `${CONSUMER}.heartbeat-interval-ms`,
    [10_000, 3_000, -1],
    ['defaults.heartbeatIntervalMs', 3_000],
  ),
  field('12', 'producer.sendTimeoutSeconds', `${PRODUCER}.send-timeout-seconds`, [30, 5, '5s']),
  field('13', 'producer.transactionalEnabled', `${PRODUCER}.transactional-enabled`, [
    false,
    true,
    'yes',
  ]),
  field('14', 'producer.transactionalIdPrefix', `${PRODUCER}.transactional-id-prefix`, [
    'unraveldocs-tx-',
    'shop-tx-',
    7,
  ]),
  field(
    '15',
    'retry.maxAttempts',
    'kafka.retry.max-attempts',
    [3, 5, -1],
    [`${TIER0}.maxAttempts`, 6],
  ),
  field(
    '16',
    'retry.initialIntervalMs',
    'kafka.retry.initial-interval-ms',
    [1_000, 500, '1 week'],
    [`${TIER0}.initialBackoffMs`, 500],
  ),
  field(
    '17',
    'retry.multiplier',
    'kafka.retry.multiplier',
    [2, 1.5, 0.5],
    [`${TIER0}.multiplier`, 1.5],
  ),
  field(
    '18',
    'retry.maxIntervalMs',
    'kafka.retry.max-interval-ms',
    [30_000, 20_000, []],
    [`${TIER0}.maxBackoffMs`, 20_000],
  ),
  field(
    '19',
    'retry.retryTopicsEnabled',
    'kafka.retry.retry-topics-enabled',
    [true, false, 'maybe'],
    ['defaults.retry.tiers', []],
  ),
  field('20', 'rabbitmq.enabled', 'rabbitmq.enabled', [false, true, 'off']),
  field('21', 'rabbitmq.exchangePrefix', 'rabbitmq.exchange-prefix', [PREFIX, 'shop', {}]),
  field('22', 'rabbitmq.queuePrefix', 'rabbitmq.queue-prefix', [PREFIX, 'shop', null]),
];

/** Returns a tree with this value at this path. */
export const treeOf = (path: string, value: unknown): PlainObject =>
  path.split('.').reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as PlainObject;

export const valueAt = (tree: unknown, path: string): unknown =>
  path.split('.').reduce<unknown>((node, key) => (node as PlainObject | undefined)?.[key], tree);
