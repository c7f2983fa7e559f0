import { readFileSync } from 'node:fs';
import type { LoadedOptions, UnusedKey } from '../config/reading/loaded-options.js';
import { isPlainObject, type PlainObject } from '../config/reading/plain-object.js';
import { formatValue } from '../config/reading/format-value.js';
import { below, Violations } from '../config/validation/violations.js';
import { MOST_TIERS } from '../model/records/tier-history.js';

const SOURCE = 'KafkaConsumer';

const KNOWN = [
  'TopicName',
  'ConsumerNumber',
  'GroupId',
  'BootstrapServers',
  'SchemaRegistryUrl',
  'Error',
  'RetryPolicy',
];

/**
 * Reads the section KafkaConsumer of a settings file, given by path or already parsed. It becomes one
 * binding with preset `resilient` and one retry topic per attempt, each with the same delay. Values
 * are Avro if the section names a schema registry, else JSON. The binding is named after its topic
 * unless `binding` is given.
 */
export function loadResilientConfig(
  given: string | PlainObject,
  { binding }: { readonly binding?: string } = {},
): LoadedOptions {
  const violations = new Violations();
  const section = sectionOf(given, violations);
  const tiers = tiersOf(objectAt(section, 'RetryPolicy', violations), violations);
  const error = objectAt(section, 'Error', violations);
  violations.throwIfAny();
  const { TopicName, GroupId, ConsumerNumber, BootstrapServers, SchemaRegistryUrl } = section;
  const properties = defined({
    preset: 'resilient',
    topic: TopicName,
    groupId: GroupId,
    concurrency: ConsumerNumber,
    retry: { tiers },
    // An empty key in these files means that there is no registry.
    schemaRegistry: SchemaRegistryUrl ? { url: SchemaRegistryUrl } : undefined,
    dlt: error['TopicName'] === undefined ? undefined : { topic: error['TopicName'] },
  });
  const name = binding ?? (typeof TopicName === 'string' ? TopicName : SOURCE);
  const options = defined({ brokers: BootstrapServers, bindings: { [name]: properties } });
  return {
    source: SOURCE,
    options,
    unused: [...unusedIn(section), ...delayWithoutAttempts(section)],
  };
}

const defined = (given: PlainObject): PlainObject =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

function sectionOf(given: string | PlainObject, violations: Violations): PlainObject {
  const root = typeof given === 'string' ? readJson(given, violations) : given;
  const section = isPlainObject(root) ? (root[SOURCE] ?? root) : root;
  if (isPlainObject(section)) return section;
  if (violations.all.length === 0) {
    const message = `must be an object with the keys ${KNOWN.join(', ')}; got ${formatValue(section)}.`;
    violations.add('OBJECT', SOURCE, undefined, message);
  }
  return {};
}

function readJson(path: string, violations: Violations): unknown {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as unknown;
  } catch (error) {
    // The message of JSON.parse is left out, because it quotes a part of the file.
    const problem = error instanceof SyntaxError ? 'is not JSON' : 'cannot be read';
    const message = `the file ${formatValue(path)} ${problem}. Give the path of a JSON file with a section ${SOURCE}.`;
    violations.add('FILE', SOURCE, path, message);
    return undefined;
  }
}

function objectAt(section: PlainObject, key: string, violations: Violations): PlainObject {
  const value = section[key] ?? {};
  if (isPlainObject(value)) return value;
  violations.add(
    'OBJECT',
    below(SOURCE, key),
    undefined,
    `must be an object; got ${formatValue(value)}.`,
  );
  return {};
}

/** Creates one tier per `RetryAttempts`. Without a policy there are no retry topics. */
function tiersOf(policy: PlainObject, violations: Violations): readonly PlainObject[] {
  const { RetryAttempts: attempts = 0, Delay: delayMs } = policy;
  const path = below(SOURCE, 'RetryPolicy');
  if (
    typeof attempts !== 'number' ||
    !Number.isInteger(attempts) ||
    attempts < 0 ||
    attempts > MOST_TIERS
  ) {
    const message = `must be a whole number from 0 to ${MOST_TIERS}: each attempt is a retry topic; got ${formatValue(attempts)}.`;
    violations.add('NUMBER', below(path, 'RetryAttempts'), attempts, message);
    return [];
  }
  if (attempts > 0 && delayMs === undefined) {
    const message = `is missing: ${attempts} retry topics need a delay. Add Delay: 5000 (milliseconds).`;
    violations.add('REQUIRED', below(path, 'Delay'), undefined, message);
  }
  return Array.from({ length: attempts }, () => ({
    delayMs,
    maxAttempts: 1,
    topicSuffix: 'retry.{n}',
  }));
}

function unusedIn(section: PlainObject): readonly UnusedKey[] {
  return [
    ...keysOtherThan(section, KNOWN, ''),
    ...keysOtherThan(section['Error'], ['TopicName'], 'Error.'),
    ...keysOtherThan(section['RetryPolicy'], ['Delay', 'RetryAttempts'], 'RetryPolicy.'),
  ];
}

/** Reports a `Delay` that has no effect, because there are no attempts. */
function delayWithoutAttempts({ RetryPolicy: policy }: PlainObject): readonly UnusedKey[] {
  if (!isPlainObject(policy) || policy['Delay'] === undefined || policy['RetryAttempts']) return [];
  const reason = 'RetryAttempts is missing or 0, so there are no retry topics';
  return [{ source: SOURCE, key: `${SOURCE}.RetryPolicy.Delay`, reason }];
}

function keysOtherThan(given: unknown, known: readonly string[], prefix: string): UnusedKey[] {
  if (!isPlainObject(given)) return [];
  return Object.keys(given)
    .filter((key) => !known.includes(key))
    .map((key) => ({
      source: SOURCE,
      key: `${SOURCE}.${prefix}${key}`,
      reason: 'no option has this name',
    }));
}
