import type { NewTopic } from '@nest-event-bus/broker';
import { MESSAGING_DEFAULTS, type MessagingKafkaProperties } from '@nest-event-bus/core/presets';

const DAY_MS = 86_400_000;

interface TopicEntry {
  readonly name: string;
  /** Default: `kafka.defaultPartitions`. */
  readonly partitions?: number;
  /** Default: `kafka.defaultRetentionMs`. */
  readonly retentionMs?: number;
  /** False if failed messages of the topic have no topics of their own. */
  readonly hasFailureTopics?: false;
}

/** The main topics. An entry says only what differs from the defaults. */
const MAIN_TOPICS = {
  EMAILS: { name: 'emails' },
  DOCUMENTS: { name: 'documents', partitions: 6 },
  PAYMENTS: { name: 'payments', retentionMs: 30 * DAY_MS },
  USERS: { name: 'users' },
  NOTIFICATIONS: { name: 'notifications', retentionMs: 3 * DAY_MS, hasFailureTopics: false },
  RECEIPTS: { name: 'receipts', retentionMs: 30 * DAY_MS },
  OCR: { name: 'ocr' },
  TEAM_EVENTS: { name: 'team-events' },
  ADMIN_EVENTS: { name: 'admin-events' },
  ELASTICSEARCH: { name: 'elasticsearch', partitions: 6 },
} as const satisfies Readonly<Record<string, TopicEntry>>;

type MainTopic = keyof typeof MAIN_TOPICS;
type TopicWithFailures = Exclude<MainTopic, 'NOTIFICATIONS'>;

/** `TOPIC_EMAILS`, `TOPIC_EMAILS_RETRY`, `TOPIC_EMAILS_DLQ` and so on. */
export type TopicConstant =
  `TOPIC_${MainTopic}` | `TOPIC_${TopicWithFailures}_RETRY` | `TOPIC_${TopicWithFailures}_DLQ`;

/** Each topic of the catalogue with its name. */
export type TopicNames = Readonly<Record<TopicConstant, string>>;

const MAIN = Object.entries<TopicEntry>(MAIN_TOPICS);
const WITH_FAILURES = MAIN.filter(([, { hasFailureTopics }]) => hasFailureTopics !== false);

/** Retry and dead-letter topics have one partition, whatever the defaults are. */
const FAILURE_TOPICS = [
  { constant: 'RETRY', suffix: '-retry', partitions: 1, retentionMs: DAY_MS },
  { constant: 'DLQ', suffix: '-dlq', partitions: 1, retentionMs: 30 * DAY_MS },
] as const;

/** Returns the names of all topics of the catalogue. */
export function topicNames(prefix = MESSAGING_DEFAULTS.kafka.topicPrefix): TopicNames {
  const main = MAIN.map(([key, { name }]) => [`TOPIC_${key}`, `${prefix}-${name}`]);
  const failures = FAILURE_TOPICS.flatMap(({ constant, suffix }) =>
    WITH_FAILURES.map(([key, { name }]) => [
      `TOPIC_${key}_${constant}`,
      `${prefix}-${name}${suffix}`,
    ]),
  );
  return Object.freeze(Object.fromEntries([...main, ...failures]) as TopicNames);
}

/** The topics of the catalogue with the default prefix. */
export const TOPICS = topicNames();

/** Returns the topics of the catalogue with their settings, for `AdminSession.createTopics`. */
export function catalogueTopics(
  kafka: MessagingKafkaProperties = MESSAGING_DEFAULTS.kafka,
): readonly NewTopic[] {
  const { topicPrefix, defaultPartitions, defaultReplicationFactor, defaultRetentionMs } = kafka;
  const topic = (name: string, partitions: number, retentionMs: number): NewTopic => ({
    name: `${topicPrefix}-${name}`,
    partitions,
    replicationFactor: defaultReplicationFactor,
    config: { 'retention.ms': String(retentionMs) },
  });
  return [
    ...MAIN.map(([, { name, partitions, retentionMs }]) =>
      topic(name, partitions ?? defaultPartitions, retentionMs ?? defaultRetentionMs),
    ),
    ...FAILURE_TOPICS.flatMap(({ suffix, partitions, retentionMs }) =>
      WITH_FAILURES.map(([, { name }]) => topic(name + suffix, partitions, retentionMs)),
    ),
  ];
}
