import { nearestName } from '../model/nearest-name.js';
import type { Violations } from '../config/validation/violations.js';
import type { OptionPath } from './options-builder.js';

/** Use of a field of MessagingProperties when an event bus is configured. */
export type MessagingUse =
  /** An option of the event bus under another name, in other units. */
  | {
      readonly kind: 'option';
      readonly to: OptionPath;
      readonly convert?: (value: unknown) => unknown;
    }
  /** A switch that turns the event bus off. */
  | { readonly kind: 'switch' }
  /** The switch of the retry topic, which also uses other fields. */
  | { readonly kind: 'retry-topic' }
  /** A field that only the messaging package reads. */
  | { readonly kind: 'messaging'; readonly reason: string };

export const ROOT = 'messaging';

export interface MessagingField {
  /** Path in MessagingProperties: `consumer.maxPollRecords`. */
  readonly path: string;
  readonly use: MessagingUse;
}

const option = (...path: string[]): MessagingUse => ({ kind: 'option', to: ['defaults', ...path] });

const ofMessaging = (subject: string): MessagingUse => ({
  kind: 'messaging',
  reason: `only the messaging package reads it, through loadMessagingProperties: it belongs to ${subject}`,
});

const TOPICS = ofMessaging('the creation of topics');
const PRODUCERS = ofMessaging('producers');
const RABBITMQ = ofMessaging('RabbitMQ');

/** Converts attempts: S3 counts them after the first call, the event bus includes the first call. */
const plusFirstCall = (value: unknown): unknown => (typeof value === 'number' ? value + 1 : value);

/** Use of every field of MessagingProperties. */
const USES: Readonly<Record<string, MessagingUse>> = {
  defaultBroker: ofMessaging('the choice of a producer; the event bus reads from Kafka only'),
  enabled: { kind: 'switch' },
  'kafka.enabled': { kind: 'switch' },
  'kafka.topicPrefix': TOPICS,
  'kafka.defaultPartitions': TOPICS,
  'kafka.defaultReplicationFactor': TOPICS,
  'kafka.defaultRetentionMs': TOPICS,
  'consumer.concurrency': option('concurrency'),
  'consumer.maxPollRecords': option('maxPollRecords'),
  'consumer.sessionTimeoutMs': option('sessionTimeoutMs'),
  'consumer.heartbeatIntervalMs': option('heartbeatIntervalMs'),
  'producer.sendTimeoutSeconds': PRODUCERS,
  'producer.transactionalEnabled': PRODUCERS,
  'producer.transactionalIdPrefix': PRODUCERS,
  'retry.maxAttempts': {
    kind: 'option',
    to: ['defaults', 'retry', 'tier0', 'maxAttempts'],
    convert: plusFirstCall,
  },
  'retry.initialIntervalMs': option('retry', 'tier0', 'initialBackoffMs'),
  'retry.multiplier': option('retry', 'tier0', 'multiplier'),
  'retry.maxIntervalMs': option('retry', 'tier0', 'maxBackoffMs'),
  'retry.retryTopicsEnabled': { kind: 'retry-topic' },
  'rabbitmq.enabled': RABBITMQ,
  'rabbitmq.exchangePrefix': RABBITMQ,
  'rabbitmq.queuePrefix': RABBITMQ,
};

export const MESSAGING_FIELDS: readonly MessagingField[] = Object.entries(USES).map(
  ([path, use]) => ({ path, use }),
);

/** Fields that the reference file has below `messaging.kafka`, and the class beside it. */
const ALSO_BELOW_KAFKA = /^(?:consumer|producer|retry)\./;

/**
 * Returns the names that a file may use: `messaging.consumer.concurrency`,
 * `messaging.kafka.consumer.concurrency`.
 */
export const namesOf = ({ path }: MessagingField): readonly string[] =>
  ALSO_BELOW_KAFKA.test(path) ? [`${ROOT}.kafka.${path}`, `${ROOT}.${path}`] : [`${ROOT}.${path}`];

/**
 * Removes differences of spelling, since Spring treats `maxPollRecords` and `max-poll-records` as
 * the same key.
 */
export const canonicalKey = (key: string): string => key.replaceAll(/[-_]/g, '').toLowerCase();

const NAMED = MESSAGING_FIELDS.flatMap((field) => namesOf(field).map((name) => ({ name, field })));
const FIELDS = new Map(NAMED.map(({ name, field }) => [canonicalKey(name), field]));
const SECTIONS = new Set([...FIELDS.keys()].flatMap(sectionsOf));

/**
 * Returns the sections of a name: `messaging.kafka.consumer.concurrency` has three, the first is
 * `messaging`.
 */
function sectionsOf(name: string): readonly string[] {
  const words = name.split('.').slice(0, -1);
  return words.map((_, index) => words.slice(0, index + 1).join('.'));
}

export const messagingField = (name: string): MessagingField | undefined =>
  FIELDS.get(canonicalKey(name));

export const isMessagingSection = (name: string): boolean => SECTIONS.has(canonicalKey(name));

const SPELLINGS = [...new Set(NAMED.flatMap(({ name }) => [...sectionsOf(name), name]))];
const NAMES_WITHOUT_ROOT = SPELLINGS.filter((name) => name !== ROOT).map((name) =>
  name.slice(ROOT.length + 1),
);

/** Suggests the nearest name or section, on any level; if nothing is near, lists all fields. */
export function messagingSuggestion(name: string): string {
  const nearest = name.startsWith(`${ROOT}.`)
    ? nearestWithin(name.slice(ROOT.length + 1))
    : nearestName(name, SPELLINGS);
  if (nearest) return `Did you mean '${nearest}'?`;
  return `Known are: ${MESSAGING_FIELDS.map(({ path }) => `${ROOT}.${path}`).join(', ')}.`;
}

/** Compares without the root, because the common beginning would make unrelated names look similar. */
function nearestWithin(name: string): string | undefined {
  const last = nearestName(lastWord(name), NAMES_WITHOUT_ROOT.map(lastWord));
  const nearest =
    nearestName(name, NAMES_WITHOUT_ROOT) ??
    NAMES_WITHOUT_ROOT.find((known) => lastWord(known) === last);
  return nearest && `${ROOT}.${nearest}`;
}

const lastWord = (name: string): string => name.split('.').at(-1) ?? name;

export interface MessagingEntry {
  /** Name as it was written. */
  readonly name: string;
  readonly field: MessagingField;
  readonly value: unknown;
}

/**
 * Groups the entries by field. A field under two names is refused, because one of the two would be
 * ignored.
 */
export function byField(
  entries: readonly MessagingEntry[],
  violations: Violations,
): ReadonlyMap<string, MessagingEntry> {
  const entriesByField = new Map<string, MessagingEntry>();
  for (const entry of entries) {
    const earlier = entriesByField.get(entry.field.path);
    entriesByField.set(entry.field.path, earlier ?? entry);
    if (!earlier) continue;
    const message = `is given twice, the first time as '${earlier.name}'. Remove one of them.`;
    violations.add('KEY_TWICE', entry.name, undefined, message);
  }
  return entriesByField;
}
