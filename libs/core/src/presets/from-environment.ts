import { EventBusProperties } from '../config/properties/event-bus-properties.js';
import type { LoadedOptions, UnusedKey } from '../config/reading/loaded-options.js';
import type { PropertiesClass, PropertyShape } from '../config/properties/property-decorators.js';
import { propertiesOf } from '../config/properties/property-tree.js';
import { fromText, splitList } from './text-value.js';
import { OptionsBuilder, type OptionPath } from './options-builder.js';

export interface EnvironmentOptions {
  /** Prefix of the variables. Default `EVENTBUS`. */
  readonly prefix?: string;
  /** Exact names of bindings and clusters: `['order-events']` for ORDER_EVENTS. */
  readonly names?: readonly string[];
}

const SOURCE = 'environment';

/**
 * Reads `EVENTBUS_BINDINGS_ORDERS_GROUP_ID=order-service`, `EVENTBUS_DEFAULTS_RETRY_TIERS_0_DELAY_MS=10s`.
 * A variable cannot express capitals and dashes of a name: a name that is not among `names` is read in
 * lower case, with a dash for each underscore. A variable with the prefix that matches no key is listed
 * as unused, because it may belong to another program. An empty variable counts as not set.
 */
export function fromEnvironment(
  environment: Readonly<Record<string, string | undefined>>,
  { prefix = 'EVENTBUS', names = [] }: EnvironmentOptions = {},
): LoadedOptions {
  const builder = new OptionsBuilder();
  const unused: UnusedKey[] = [];
  for (const variable of Object.keys(environment).sort()) {
    const text = environment[variable];
    if (!variable.startsWith(`${prefix}_`) || text === undefined || text.trim() === '') continue;
    const words = variable.slice(prefix.length + 1).split('_');
    const match = findKey(EventBusProperties, words, names);
    if (match) builder.set(match.path, valueOf(match.shape, text));
    else unused.push({ source: SOURCE, key: variable, reason: 'no option has this name' });
  }
  return { source: SOURCE, options: builder.build(), unused };
}

interface MatchedKey {
  readonly path: OptionPath;
  readonly shape: PropertyShape;
}

function findKey(
  type: PropertiesClass,
  words: readonly string[],
  names: readonly string[],
): MatchedKey | undefined {
  for (const [key, shape] of propertiesOf(type)) {
    const spelling = wordsOf(key);
    if (spelling.some((word, index) => words[index] !== word)) continue;
    const rest = words.slice(spelling.length);
    const match = findNested(shape, rest, names);
    if (match) return { path: [key, ...match.path], shape: match.shape };
  }
  return undefined;
}

function findNested(
  shape: PropertyShape,
  words: readonly string[],
  names: readonly string[],
): MatchedKey | undefined {
  const { kind, type } = shape;
  if (words.length === 0)
    return kind === 'nested' || kind === 'map' ? undefined : { path: [], shape };
  if (!type) return undefined;
  if (kind === 'nested') return findKey(type(), words, names);
  if (kind === 'map') return findNamed(type(), words, names);
  const [index = '', ...rest] = words;
  if (!/^\d{1,3}$/.test(index)) return undefined;
  const match = findKey(type(), rest, names);
  return match && { path: [Number(index), ...match.path], shape: match.shape };
}

/** Tries the given names first, then the shortest name that leaves a known key. */
function findNamed(
  type: PropertiesClass,
  words: readonly string[],
  names: readonly string[],
): MatchedKey | undefined {
  const candidates = words.slice(0, -1).map((_, index) => words.slice(0, index + 1));
  const known = names
    .map((name) => ({ name, spelling: name.toUpperCase().split(/[^A-Z0-9]+/) }))
    .filter(({ spelling }) => spelling.every((word, index) => words[index] === word));
  const guessed = candidates.map((spelling) => ({
    name: spelling.join('-').toLowerCase(),
    spelling,
  }));
  for (const { name, spelling } of [...known, ...guessed]) {
    const match = findKey(type, words.slice(spelling.length), names);
    if (match) return { path: [name, ...match.path], shape: match.shape };
  }
  return undefined;
}

/** Splits a key into words: `maxPollRecords` into MAX, POLL, RECORDS. `tier0` is one word, TIER0. */
const wordsOf = (key: string): readonly string[] =>
  key
    .replaceAll(/[A-Z]/g, (letter) => `_${letter}`)
    .toUpperCase()
    .split('_');

function valueOf(shape: PropertyShape, text: string): unknown {
  if (shape.kind !== 'nested-list') return fromText(shape, text);
  return splitList(text).map(toMapping);
}

/** Parses `ServiceUnavailableException:2`, so that one variable can hold a whole skip-to-tier mapping. */
function toMapping(text: string): unknown {
  const [, match, tier] = /^(.+):(\d+)$/.exec(text) ?? [];
  return match === undefined ? text : { match, tier: Number(tier) };
}
