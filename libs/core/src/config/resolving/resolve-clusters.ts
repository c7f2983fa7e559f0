import { EVENTBUS_DEFAULTS } from '../defaults.js';
import { ClusterProperties } from '../properties/event-bus-properties.js';
import type { Layer } from '../reading/merge-layers.js';
import { isForbiddenKey, isPlainObject, type PlainObject } from '../reading/plain-object.js';
import { readProperties } from '../reading/read-properties.js';
import { checkName } from '../reading/names.js';
import type { ResolvedCluster } from './resolved-options.js';
import { below, type Violations } from '../validation/violations.js';

type ClusterLayers = ReadonlyMap<string, readonly ClusterLayer[]>;

interface ClusterLayer {
  readonly path: string;
  readonly values: Partial<Omit<ResolvedCluster, 'alias'>>;
}

/**
 * Resolves the clusters of all layers by alias; the highest layer comes first. The first layer that names
 * brokers or a driver decides how the cluster is reached: `driver: memory()` of a test overrides the
 * brokers of the environment and is no conflict.
 */
export function resolveClusters(
  layers: readonly Layer[],
  violations: Violations,
): readonly ResolvedCluster[] {
  return [...clusterLayers(layers, violations)].map(([alias, sections]) => {
    const connecting = sections.find(({ values }) => values.driver ?? values.brokers);
    const driver = connecting?.values.driver;
    const highestWins = sections.map(({ values }) => values).toReversed();
    const producer = producerOf(alias, highestWins, violations);
    if (driver) return cluster(alias, { driver, producer });
    return cluster(alias, { ...Object.assign({}, ...highestWins), driver: undefined, producer });
  });
}

/** Merges the producer options key by key, so that a layer overrides only the keys that it sets. */
function producerOf(
  alias: string,
  highestWins: readonly ClusterLayer['values'][],
  violations: Violations,
): ResolvedCluster['producer'] {
  const producer: ResolvedCluster['producer'] = Object.assign(
    {},
    EVENTBUS_DEFAULTS.cluster.producer,
    ...highestWins.map((values) => values.producer),
  );
  const { batchBytes, bufferBytes } = producer;
  if (bufferBytes < batchBytes) {
    const path = below(below(below('clusters', alias), 'producer'), 'bufferBytes');
    const message = `(${bufferBytes}) is smaller than batchBytes (${batchBytes}): no batch could ever fill. Raise it, or lower batchBytes.`;
    violations.add('PRODUCER_BUFFER', path, bufferBytes, message);
  }
  return Object.freeze(producer);
}

/** Refuses clusters without brokers and driver. Called only if the bus is enabled. */
export function requireReachable(
  clusters: readonly ResolvedCluster[],
  layers: readonly Layer[],
  violations: Violations,
): void {
  if (layers.some((layer) => isAttempted(layer, violations))) return;
  if (!clusters.some(isReachable)) {
    violations.add(
      'BROKERS_MISSING',
      'brokers',
      undefined,
      "are missing: there is nothing to connect to. Give brokers: 'host:port' (or clusters), ask for another driver such as driver: memory(), switch the bus off with enabled: false, or let it be off wherever no brokers are given with enabled: 'if-configured'.",
    );
    return;
  }
  for (const each of clusters) {
    const path = below('clusters', each.alias);
    if (isReachable(each)) continue;
    const message = 'has neither brokers nor a driver. Give it one of the two, or remove it.';
    violations.add('BROKERS_MISSING', path, undefined, message);
  }
}

/** Returns true if a layer has an invalid connection, which was already reported. */
const isAttempted = ({ path }: Layer, violations: Violations): boolean =>
  violations.all.some((violation) => violation.path === path) ||
  ['brokers', 'driver', 'clusters'].some((key) => violations.touches(below(path, key)));

export const isReachable = ({ driver, brokers }: ResolvedCluster): boolean =>
  driver !== undefined || brokers.length > 0;

const cluster = (
  alias: string,
  {
    driver,
    brokers = [],
    clientId = EVENTBUS_DEFAULTS.cluster.clientId,
    ssl = EVENTBUS_DEFAULTS.cluster.ssl,
    sasl,
    rackId,
    metadataMaxAgeMs = EVENTBUS_DEFAULTS.cluster.metadataMaxAgeMs,
    producer = EVENTBUS_DEFAULTS.cluster.producer,
  }: ClusterLayer['values'],
): ResolvedCluster =>
  Object.freeze({
    alias,
    driver,
    brokers: Object.freeze([...brokers]),
    clientId,
    ssl,
    sasl,
    rackId,
    metadataMaxAgeMs,
    producer,
  });

function clusterLayers(layers: readonly Layer[], violations: Violations): ClusterLayers {
  const byAlias = new Map<string, ClusterLayer[]>();
  for (const layer of layers) {
    for (const [alias, section] of sectionsOf(layer, violations)) {
      byAlias.set(alias, [...(byAlias.get(alias) ?? []), section]);
    }
  }
  return byAlias;
}

function sectionsOf(
  { path, values }: Layer,
  violations: Violations,
): ReadonlyMap<string, ClusterLayer> {
  const shorthand = pick(values, ['brokers', 'driver']);
  const sections = new Map<string, { readonly at: string; readonly given: PlainObject }>();
  if (Object.keys(shorthand).length > 0) sections.set('default', { at: path, given: shorthand });
  const declared = isPlainObject(values['clusters']) ? values['clusters'] : {};
  for (const [alias, properties] of Object.entries(declared)) {
    const at = below(below(path, 'clusters'), alias);
    checkName('cluster', alias, at, violations);
    if (isForbiddenKey(alias) || properties === undefined) continue;
    const section = readProperties(ClusterProperties, properties, at, violations);
    if (alias === 'default') rejectDuplicateAlias(shorthand, section, path, violations);
    sections.set(alias, {
      at,
      given: alias === 'default' ? { ...shorthand, ...section } : section,
    });
  }
  return new Map(
    [...sections].map(([alias, { at, given }]) => [alias, read(given, at, violations)]),
  );
}

const pick = (values: PlainObject, keys: readonly string[]): PlainObject =>
  Object.fromEntries(
    keys.flatMap((key) => (values[key] === undefined ? [] : [[key, values[key]]])),
  );

/** Reads one cluster of one layer. Blank brokers, as from an unset variable, count as not given. */
function read(values: PlainObject, path: string, violations: Violations): ClusterLayer {
  const { brokers, ...rest } = values;
  const addresses = brokers === undefined ? [] : addressesOf(brokers);
  for (const address of addresses) checkAddress(address, below(path, 'brokers'), violations);
  const given = { ...rest, ...(addresses.length > 0 ? { brokers: addresses } : {}) };
  rejectMixedForms(given, path, violations);
  return { path, values: given };
}

const addressesOf = (brokers: unknown): readonly string[] =>
  (Array.isArray(brokers) ? (brokers as string[]) : [String(brokers)])
    .flatMap((text) => text.split(','))
    .map((address) => address.trim())
    .filter((address) => address !== '');

function checkAddress(address: string, path: string, violations: Violations): void {
  const [, port] = /^(?:\[[0-9A-Fa-f:.]+\]|[^:\s/@]+):(\d{1,5})$/.exec(address) ?? [];
  if (Number(port) >= 1 && Number(port) <= 65_535) return;
  // A pasted URL may contain a password, which must not appear in a log.
  const shown = address.includes('@')
    ? 'an address with credentials'
    : `'${address.slice(0, 100)}'`;
  const message = `${shown} is not a broker address. Write host:port, such as 'kafka-1:9092', without a scheme.`;
  violations.add('BROKER_ADDRESS', path, undefined, message);
}

const WITH_ANY_DRIVER: ReadonlySet<string> = new Set(['driver', 'producer']);

function rejectMixedForms(values: PlainObject, path: string, violations: Violations): void {
  if (values['driver'] === undefined) return;
  const others = Object.keys(values).filter((key) => !WITH_ANY_DRIVER.has(key));
  if (others.length === 0) return;
  const message = `brings its own connections, so ${others.join(', ')} beside it would have no effect. Keep the driver or the others.`;
  violations.add('DRIVER_AND_BROKERS', below(path, 'driver'), undefined, message);
}

function rejectDuplicateAlias(
  shorthand: PlainObject,
  section: PlainObject,
  path: string,
  violations: Violations,
): void {
  for (const key of Object.keys(shorthand)) {
    if (section[key] === undefined) continue;
    const message = `is set twice, here and in clusters.default.${key}. Remove one of the two.`;
    violations.add('CLUSTER_TWICE', below(path, key), undefined, message);
  }
}
