import { mergeLayers } from '../config/reading/merge-layers.js';
import { deepFreeze, isPlainObject, type PlainObject } from '../config/reading/plain-object.js';
import { readProperties } from '../config/reading/read-properties.js';
import { formatValue } from '../config/reading/format-value.js';
import { Violations } from '../config/validation/violations.js';
import { nearestName } from '../model/nearest-name.js';
import {
  byField,
  canonicalKey,
  isMessagingSection,
  messagingField,
  messagingSuggestion,
  ROOT,
  type MessagingEntry,
} from './messaging-keys.js';
import {
  MESSAGING_DEFAULTS,
  MessagingProperties,
  SECTION_CLASSES,
} from './messaging-properties.js';
import { OptionsBuilder } from './options-builder.js';
import { parseProperties } from './properties-text.js';
import { optionShape, fromText } from './text-value.js';

/**
 * Reads `messaging.*`, completed by the defaults, from the text of a .properties file, from flat keys
 * or from a tree. Keys may be written `topic-prefix` or `topicPrefix`. Other keys beside `messaging`
 * are ignored; an object without that key is taken as the section itself.
 */
export function loadMessagingProperties(given: string | object = {}): MessagingProperties {
  const violations = new Violations();
  const fields = byField(entriesOf(given, violations), violations);
  const tree = new OptionsBuilder();
  for (const [path, { value }] of fields) tree.set(path.split('.'), value);
  const values = readProperties(MessagingProperties, tree.build(), ROOT, violations);
  violations.throwIfAny();
  return complete(values);
}

const DEFAULTS: PlainObject = Object.fromEntries(Object.entries(MESSAGING_DEFAULTS));

function complete(values: PlainObject): MessagingProperties {
  const layers = [
    { source: 'the given properties', path: ROOT, values },
    { source: 'the defaults', path: ROOT, values: DEFAULTS },
  ];
  // The cast is safe: the defaults contain every key, and every value was checked against the class.
  return deepFreeze(mergeLayers(layers).values) as unknown as MessagingProperties;
}

function entriesOf(given: unknown, violations: Violations): readonly MessagingEntry[] {
  if (typeof given === 'string') return visitAll(messagingKeys(parseProperties(given)), violations);
  if (!isSection(given)) {
    const message = `must be a plain object or the text of a .properties file; got ${formatValue(given)}.`;
    violations.add('OBJECT', ROOT, undefined, message);
    return [];
  }
  const entries = Object.entries(given);
  const own = entries.filter(([name]) => isMessagingKey(name));
  return visitAll(own.length > 0 ? own : asSection(entries), violations);
}

const messagingKeys = (properties: PlainObject): [string, unknown][] =>
  Object.entries(properties).filter(([name]) => isMessagingKey(name));

/** Accepts misspelled roots such as `mesaging.enabled`, so that they are refused and not ignored. */
const isMessagingKey = (name: string): boolean =>
  nearestName(firstWord(name), [ROOT]) !== undefined;

const firstWord = (name: string): string => canonicalKey(name.split('.')[0] ?? '');

/** Adds the root key to each entry. Entries of `spring.*` are left to fromProperties. */
const asSection = (entries: readonly [string, unknown][]): [string, unknown][] =>
  entries
    .filter(([name]) => firstWord(name) !== 'spring')
    .map(([name, value]) => [`${ROOT}.${name}`, value]);

const visitAll = (
  entries: readonly (readonly [string, unknown])[],
  violations: Violations,
): readonly MessagingEntry[] => entries.flatMap(([name, value]) => visit(name, value, violations));

/** Descends into known sections only, so that the depth of the given tree does not matter. */
function visit(name: string, value: unknown, violations: Violations): readonly MessagingEntry[] {
  if (value === undefined) return [];
  const field = messagingField(name);
  if (field) return isBlank(value) ? [] : [{ name, field, value: valueOf(field.path, value) }];
  if (!isMessagingSection(name)) {
    const message = `there is no property ${formatValue(name)}. ${messagingSuggestion(name)}`;
    violations.add('UNKNOWN_KEY', name, undefined, message);
    return [];
  }
  if (!isSection(value)) {
    const message = `must be a plain object; got ${formatValue(value)}.`;
    violations.add('OBJECT', name, undefined, message);
    return [];
  }
  const inner = Object.entries(value).map(([key, item]) => [`${name}.${key}`, item] as const);
  return visitAll(inner, violations);
}

/** Excludes other objects, such as a Map or a Date, which would look like a section without keys. */
const isSection = (value: unknown): value is object =>
  isPlainObject(value) || SECTION_CLASSES.some((type) => value instanceof type);

/** Treats an empty value of a file as not set. */
const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === '';

const valueOf = (path: string, value: unknown): unknown =>
  typeof value === 'string'
    ? fromText(optionShape(MessagingProperties, path.split('.')), value)
    : value;
