import { EventBusProperties } from '../config/event-bus-properties.js';
import type { LoadedOptions, UnusedKey } from '../config/loaded-options.js';
import type { PropertiesClass, PropertyShape } from '../config/property-decorators.js';
import { propertiesOf } from '../config/property-tree.js';
import { OptionsBuilder, type OptionPath } from './options-builder.js';
import { parseProperties } from './properties-text.js';
import { PLACELESS_KEYS, PROPERTY_KEYS } from './property-keys.js';
import { fromText } from './text-value.js';

const SOURCE = 'properties';

/** What S3 sets where its reference says nothing. The rest is in preset `brokers`. */
const DEFAULT_GROUP_ID = 'unraveldocs-group';

type Scalar = string | number | boolean | undefined;

/**
 * `spring.kafka.*` and `messaging.*`, from a flat object or the text of a .properties file. The
 * bindings of this application then behave as preset `brokers` says, with what the file changes.
 * Without bootstrap servers the event bus is off. What belongs to producers, RabbitMQ or topics has
 * no place among these options: it is listed as unused.
 */
export function fromProperties(given: string | Readonly<Record<string, Scalar>>): LoadedOptions {
  const properties = typeof given === 'string' ? parseProperties(given) : given;
  const entries = Object.entries(properties).flatMap(([key, value]) =>
    value === undefined || String(value).trim() === '' ? [] : [{ key, text: String(value) }],
  );
  const builder = new OptionsBuilder()
    .set(['enabled'], isSwitchedOff(entries) ? false : 'if-configured')
    .set(['defaults', 'preset'], 'brokers')
    .set(['defaults', 'groupId'], DEFAULT_GROUP_ID);
  const unused = entries.flatMap((entry) => place(entry, builder) ?? []);
  placeRetryTopic(entries, builder);
  return { source: SOURCE, options: builder.build(), unused };
}

interface Entry {
  readonly key: string;
  readonly text: string;
}

/** Spring takes `maxPollRecords` and `max-poll-records` for the same. */
const canonical = (key: string): string => key.replaceAll(/[-_]/g, '').toLowerCase();

const MAPPED = new Map(PROPERTY_KEYS.map((mapping) => [canonical(mapping.key), mapping]));

function place({ key, text }: Entry, builder: OptionsBuilder): UnusedKey | undefined {
  const mapping = MAPPED.get(canonical(key));
  if (!mapping) return unusedKey(key);
  if (mapping.to) {
    const value = fromText(shapeAt(EventBusProperties, mapping.to), text);
    builder.set(mapping.to, mapping.convert?.(value) ?? value);
  }
  return undefined;
}

function unusedKey(key: string): UnusedKey {
  const known = PLACELESS_KEYS.find(({ prefix }) => canonical(key).startsWith(canonical(prefix)));
  return { source: SOURCE, key, reason: known?.reason ?? 'no option has this name' };
}

function shapeAt(type: PropertiesClass, [key, ...rest]: OptionPath): PropertyShape {
  const shape = propertiesOf(type).get(String(key));
  if (!shape) throw new TypeError(`There is no option ${key}.`);
  return rest.length > 0 && shape.type ? shapeAt(shape.type(), rest) : shape;
}

const textOf = (entries: readonly Entry[], ...keys: readonly string[]): string | undefined =>
  entries
    .find(({ key }) => keys.some((wanted) => canonical(wanted) === canonical(key)))
    ?.text.trim();

const isSwitchedOff = (entries: readonly Entry[]): boolean =>
  ['messaging.enabled', 'messaging.kafka.enabled'].some((key) => textOf(entries, key) === 'false');

/**
 * One retry topic, where the file asks for it by name: `{topic}-retry`, with as many deliveries as
 * there are attempts, each after the initial interval. S3 gives that topic no delay of its own.
 */
function placeRetryTopic(entries: readonly Entry[], builder: OptionsBuilder): void {
  const retry = (key: string) =>
    textOf(entries, `messaging.kafka.retry.${key}`, `messaging.retry.${key}`);
  const asked = retry('retry-topics-enabled');
  if (asked === 'false') builder.set(['defaults', 'retry', 'tiers'], []);
  if (asked !== 'true') return;
  builder.set(
    ['defaults', 'retry', 'tiers'],
    [
      {
        delayMs: Number(retry('initial-interval-ms') ?? 1_000),
        maxAttempts: Number(retry('max-attempts') ?? 3),
        topicSuffix: '-retry',
      },
    ],
  );
}
