import { EventBusProperties } from '../config/properties/event-bus-properties.js';
import type { LoadedOptions, UnusedKey } from '../config/reading/loaded-options.js';
import { below, Violations } from '../config/validation/violations.js';
import {
  durationComplaint,
  LONGEST_DURATION_MS,
  parseDuration,
} from '../config/reading/duration.js';
import { byField, canonicalKey, messagingField, type MessagingEntry } from './messaging-keys.js';
import { MESSAGING_DEFAULTS, MessagingProperties } from './messaging-properties.js';
import { OptionsBuilder } from './options-builder.js';
import { parseProperties } from './properties-text.js';
import { PLACELESS_KEYS, PROPERTY_KEYS } from './property-keys.js';
import { fromText, optionShape } from './text-value.js';

const SOURCE = 'properties';

/**
 * Default group id of the earlier system S3, which its reference does not document. The other
 * defaults are in preset `brokers`.
 */
const DEFAULT_GROUP_ID = 'unraveldocs-group';

type Scalar = string | number | boolean | undefined;

/**
 * Reads `spring.kafka.*` and `messaging.*` from a flat object or the text of a .properties file. All
 * bindings use preset `brokers`, and the file overrides its values. Without bootstrap servers the
 * event bus is off. Keys of the package's producers, of RabbitMQ and of topic creation are no options
 * of the event bus: they are listed as unused, and loadMessagingProperties reads them.
 */
export function fromProperties(given: string | Readonly<Record<string, Scalar>>): LoadedOptions {
  const properties = typeof given === 'string' ? parseProperties(given) : given;
  const entries = Object.entries(properties).flatMap(([key, value]) =>
    value === undefined || String(value).trim() === '' ? [] : [{ key, text: String(value) }],
  );
  const violations = new Violations();
  const messaging = messagingEntries(entries, violations);
  const builder = new OptionsBuilder()
    .set(['enabled'], isSwitchedOff(messaging, violations) ? false : 'if-configured')
    .set(['defaults', 'preset'], 'brokers')
    .set(['defaults', 'groupId'], DEFAULT_GROUP_ID);
  const unused = entries.flatMap((entry) => applyEntry(entry, builder) ?? []);
  addElapsedLimit(messaging, builder);
  addRetryTopic(messaging, builder, violations);
  violations.throwIfAny();
  return { source: SOURCE, options: builder.build(), unused };
}

interface Entry {
  readonly key: string;
  readonly text: string;
}

type MessagingEntries = ReadonlyMap<string, MessagingEntry>;

function messagingEntries(entries: readonly Entry[], violations: Violations): MessagingEntries {
  const messagingKeys = entries.flatMap(({ key, text }) => {
    const field = messagingField(key);
    return field ? [{ name: key, field, value: text }] : [];
  });
  return byField(messagingKeys, violations);
}

const MAPPED = new Map(PROPERTY_KEYS.map((mapping) => [canonicalKey(mapping.key), mapping]));

function applyEntry({ key, text }: Entry, builder: OptionsBuilder): UnusedKey | undefined {
  const use = messagingField(key)?.use;
  const mapping = use?.kind === 'option' ? use : MAPPED.get(canonicalKey(key));
  if (mapping) {
    const value = fromText(optionShape(EventBusProperties, mapping.to), text);
    builder.set(mapping.to, mapping.convert?.(value) ?? value);
    return undefined;
  }
  if (use?.kind === 'messaging') return { source: SOURCE, key, reason: use.reason };
  return use ? undefined : unusedKey(key);
}

function unusedKey(key: string): UnusedKey {
  const known = PLACELESS_KEYS.find(({ prefix }) =>
    canonicalKey(key).startsWith(canonicalKey(prefix)),
  );
  return { source: SOURCE, key, reason: known?.reason ?? 'no option has this name' };
}

function isSwitchedOff(messaging: MessagingEntries, violations: Violations): boolean {
  const switches = [...messaging.values()].filter(({ field }) => field.use.kind === 'switch');
  return switches.map((entry) => flagOf(entry, violations)).includes(false);
}

/** Validates a flag that becomes no option, because the validator of the options never gets it. */
function flagOf({ name, field, value }: MessagingEntry, violations: Violations): unknown {
  const shape = optionShape(MessagingProperties, field.path.split('.'));
  const flag = fromText(shape, String(value));
  if (!shape.accepts(flag)) {
    violations.add(shape.rule, below(SOURCE, name), flag, shape.complaint(flag));
  }
  return flag;
}

/**
 * S3 stops retrying after the longest interval times the attempts. The preset has the limit of the
 * default values.
 */
function addElapsedLimit(messaging: MessagingEntries, builder: OptionsBuilder): void {
  if (!messaging.has('retry.maxAttempts') && !messaging.has('retry.maxIntervalMs')) return;
  const attempts = retryValue(messaging, 'maxAttempts');
  const interval = retryValue(messaging, 'maxIntervalMs');
  // A value that is no number or no duration is reported where it becomes an option.
  if (!Number.isInteger(attempts) || durationComplaint(interval) !== undefined) return;
  const limitMs = Math.min(parseDuration(interval) * Number(attempts), LONGEST_DURATION_MS);
  if (limitMs >= 0) builder.set(['defaults', 'retry', 'tier0', 'maxElapsedMs'], limitMs);
}

/**
 * Adds one retry topic `{topic}-retry` if the file enables it explicitly. It has as many deliveries as
 * there are attempts, each after the initial interval, because S3 has no separate delay for that topic.
 * Left out, there is none: S3 creates these topics by default, but moves a failed record from the
 * last attempt directly to the dead-letter topic.
 */
function addRetryTopic(
  messaging: MessagingEntries,
  builder: OptionsBuilder,
  violations: Violations,
): void {
  const enabled = messaging.get('retry.retryTopicsEnabled');
  if (!enabled) return;
  const tier = {
    delayMs: retryValue(messaging, 'initialIntervalMs'),
    maxAttempts: retryValue(messaging, 'maxAttempts'),
    topicSuffix: '-retry',
  };
  builder.set(['defaults', 'retry', 'tiers'], flagOf(enabled, violations) === true ? [tier] : []);
}

function retryValue(
  messaging: MessagingEntries,
  key: 'initialIntervalMs' | 'maxIntervalMs' | 'maxAttempts',
): unknown {
  const given = messaging.get(`retry.${key}`);
  const shape = optionShape(MessagingProperties, ['retry', key]);
  return given ? fromText(shape, String(given.value)) : MESSAGING_DEFAULTS.retry[key];
}
