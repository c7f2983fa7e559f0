import { nearestName } from '../model/nearest-name.js';
import type { Violations } from '../config/validation/violations.js';
import type { OptionPath } from './options-builder.js';

/** What becomes of a field of MessagingProperties where an event bus is configured. */
export type MessagingUse =
  /** It is an option of the event bus under another name, in other units. */
  | {
      readonly kind: 'option';
      readonly to: OptionPath;
      readonly convert?: (value: unknown) => unknown;
    }
  /** It switches the event bus off. */
  | { readonly kind: 'switch' }
  /** It asks for a retry topic, which takes other fields as well. */
  | { readonly kind: 'retry-topic' }
  /** Only the messaging package reads it. */
  | { readonly kind: 'messaging'; readonly reason: string };

export const ROOT = 'messaging';

export interface MessagingField {
  /** In MessagingProperties: `consumer.maxPollRecords`. */
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

/** S3 counts the attempts after the first call; here the first call counts. */
const plusFirstCall = (value: unknown): unknown => (typeof value === 'number' ? value + 1 : value);

/** Every field of MessagingProperties, and who reads it. */
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

/** The reference file has these below `messaging.kafka`, the class has them beside it. */
const ALSO_BELOW_KAFKA = /^(?:consumer|producer|retry)\./;

/** As a file may name a field: `messaging.consumer.concurrency`, `messaging.kafka.consumer.concurrency`. */
export const namesOf = ({ path }: MessagingField): readonly string[] =>
  ALSO_BELOW_KAFKA.test(path) ? [`${ROOT}.kafka.${path}`, `${ROOT}.${path}`] : [`${ROOT}.${path}`];

/** Spring takes `maxPollRecords` and `max-poll-records` for the same. */
export const canonicalKey = (key: string): string => key.replaceAll(/[-_]/g, '').toLowerCase();

const NAMED = MESSAGING_FIELDS.flatMap((field) => namesOf(field).map((name) => ({ name, field })));
const FIELDS = new Map(NAMED.map(({ name, field }) => [canonicalKey(name), field]));
const SECTIONS = new Set([...FIELDS.keys()].flatMap(sectionsAbove));

/** `messaging.kafka.consumer.concurrency`: three sections, the first of them `messaging`. */
function sectionsAbove(name: string): readonly string[] {
  const words = name.split('.').slice(0, -1);
  return words.map((_, index) => words.slice(0, index + 1).join('.'));
}

export const messagingField = (name: string): MessagingField | undefined =>
  FIELDS.get(canonicalKey(name));

export const isMessagingSection = (name: string): boolean => SECTIONS.has(canonicalKey(name));

const SPELLINGS = [...new Set(NAMED.flatMap(({ name }) => [...sectionsAbove(name), name]))];
const WITHIN = SPELLINGS.filter((name) => name !== ROOT).map((name) => name.slice(ROOT.length + 1));

/** The name or section that is meant, or one of another level; else what there is. */
export function messagingSuggestion(name: string): string {
  const nearest = name.startsWith(`${ROOT}.`)
    ? nearestWithin(name.slice(ROOT.length + 1))
    : nearestName(name, SPELLINGS);
  if (nearest) return `Did you mean '${nearest}'?`;
  return `Known are: ${MESSAGING_FIELDS.map(({ path }) => `${ROOT}.${path}`).join(', ')}.`;
}

/** Without the root, which all have in common: it would bring the strangest names close. */
function nearestWithin(name: string): string | undefined {
  const last = nearestName(lastWord(name), WITHIN.map(lastWord));
  const nearest = nearestName(name, WITHIN) ?? WITHIN.find((known) => lastWord(known) === last);
  return nearest && `${ROOT}.${nearest}`;
}

const lastWord = (name: string): string => name.split('.').at(-1) ?? name;

export interface MessagingEntry {
  /** As it was written. */
  readonly name: string;
  readonly field: MessagingField;
  readonly value: unknown;
}

/** By the path of the field. A field under two names is refused: one of the two would not count. */
export function byField(
  entries: readonly MessagingEntry[],
  violations: Violations,
): ReadonlyMap<string, MessagingEntry> {
  const found = new Map<string, MessagingEntry>();
  for (const entry of entries) {
    const earlier = found.get(entry.field.path);
    found.set(entry.field.path, earlier ?? entry);
    if (!earlier) continue;
    const message = `is given twice, the first time as '${earlier.name}'. Remove one of them.`;
    violations.add('KEY_TWICE', entry.name, undefined, message);
  }
  return found;
}
