import { ConfigurationValidator } from '../validation/configuration-validator.js';
import { EVENTBUS_DEFAULTS } from '../defaults.js';
import { errorTypesOf, rejectUnknownErrors } from '../error-matching/error-types.js';
import { EventBusProperties } from '../properties/event-bus-properties.js';
import type { FeatureProperties } from '../properties/feature-properties.js';
import { unusedTrustedPackages } from '../validation/ineffective-settings.js';
import { isLoadedOptions, type LoadedOptions } from '../reading/loaded-options.js';
import { mergeLayers, type Layer } from '../reading/merge-layers.js';
import { deepFreeze, isPlainObject, type PlainObject } from '../reading/plain-object.js';
import type { PresetName } from '../reading/preset-name.js';
import { PRESETS } from '../reading/presets.js';
import { readLayer, sectionOf } from '../reading/read-layer.js';
import { bindingLayers } from './precedence.js';
import { draftBinding, type BindingDraft, type BindingLayer } from './resolve-binding.js';
import { isReachable, requireReachable, resolveClusters } from './resolve-clusters.js';
import type { ResolvedBinding } from './resolved-binding.js';
import { isTopicName } from './legal-topic-name.js';
import type {
  BindingContext,
  ResolvedCluster,
  ResolvedFleet,
  ResolvedOptions,
} from './resolved-options.js';
import { rejectSingleListener } from '../reading/batch-handler-defaults.js';
import type { TopicBindingProperties } from '../properties/topic-binding-properties.js';
import { below, Violations } from '../validation/violations.js';

/** Sources of options besides those of the module. */
export interface OptionLayers {
  /** Loaders that rank below the `loaders` of the options; the first one wins. */
  readonly loaders?: readonly (LoadedOptions | Partial<EventBusProperties>)[];
  /**
   * Options of `EventBusModule.forFeature`. They have the same rank as the options of the module.
   */
  readonly features?: readonly { readonly source: string; readonly options: FeatureProperties }[];
  /**
   * Options of decorators. They rank below options and loaders, because those may differ between
   * environments and code does not.
   */
  readonly handlers?: readonly HandlerLayer[];
  /** True if there is a lifecycle manager, which a circuit breaker needs to pause a binding. Default true. */
  readonly lifecycleManager?: boolean;
}

/** Options that a decorator sets for the binding of its handler. */
export interface HandlerLayer {
  readonly binding: string;
  readonly source: string;
  /** `slice` if one call of the handler takes a whole slice. */
  readonly form?: 'record' | 'slice';
  readonly properties: Partial<TopicBindingProperties>;
}

/**
 * Resolves and validates all options; the only place that does so. Each key of a binding is taken from the
 * first source that sets it: the options (or a feature), a loader, a decorator, the `defaults` of the
 * options, the `defaults` of a loader, the preset, the library. All errors are thrown together, as a
 * ConfigurationValidationException. The given objects are not changed.
 */
export function resolveOptions(
  options: EventBusProperties,
  layers: OptionLayers = {},
): ResolvedOptions {
  const violations = new Violations();
  const roots = rootLayers(options, layers, violations);
  const { values } = mergeLayers(roots.map(mergeable));
  const clusters = resolveClusters(roots, violations);
  const enabled = enablement(values, clusters);
  if (enabled === 'enabled') requireReachable(clusters, roots, violations);
  const context = contextOf(roots, clusters, enabled, layers, violations);
  const fleet = resolveFleet(values['fleet'], enabled, clusters, violations);
  const named = draftAll(roots, layers, context, violations);
  const drafts = named.map(({ draft }) => draft);
  violations.throwIfAny();
  const bindings = drafts.flatMap(({ binding }) => binding ?? []);
  return Object.freeze({
    enabled,
    clusters: Object.freeze(Object.fromEntries(clusters.map((each) => [each.alias, each]))),
    bindings: Object.freeze(bindings),
    sources: new Map(
      named.map(({ draft: { settings }, given, name }) => [name, { layers: given, settings }]),
    ),
    bindingsWithoutHandler: (values['bindingsWithoutHandler'] ??
      EVENTBUS_DEFAULTS.bindingsWithoutHandler) as ResolvedOptions['bindingsWithoutHandler'],
    shutdown: sectionWithDefaults(values['shutdown'], EVENTBUS_DEFAULTS.shutdown),
    startup: sectionWithDefaults(values['startup'], EVENTBUS_DEFAULTS.startup),
    intake: sectionWithDefaults(values['intake'], EVENTBUS_DEFAULTS.intake),
    metrics: sectionWithDefaults(values['metrics'], EVENTBUS_DEFAULTS.metrics),
    logContext: sectionWithDefaults(values['logContext'], EVENTBUS_DEFAULTS.logContext),
    lag: sectionWithDefaults(values['lag'], EVENTBUS_DEFAULTS.lag),
    fleet,
    runtime: roots[0]?.values['runtime'] as ResolvedOptions['runtime'],
    unusedKeys: deepFreeze(loadersOf(options, layers).flatMap(({ unused }) => [...unused])),
    ineffective: Object.freeze([
      ...drafts.flatMap(({ ineffective }) => ineffective),
      ...unusedTrustedPackages(context.defaults, bindings),
    ]),
    context,
  });
}

function resolveFleet(
  given: unknown,
  enabled: ResolvedOptions['enabled'],
  clusters: readonly ResolvedCluster[],
  violations: Violations,
): ResolvedFleet {
  const fleet: ResolvedFleet = sectionWithDefaults<ResolvedFleet>(given, EVENTBUS_DEFAULTS.fleet);
  const { cluster, controlTopic } = fleet;
  if (controlTopic === undefined || enabled !== 'enabled') return fleet;
  if (!isTopicName(controlTopic)) {
    const message =
      'is no legal name of a topic. Use letters, digits, dots, hyphens and underscores, at most 249.';
    violations.add('FLEET', 'fleet.controlTopic', controlTopic, message);
  }
  const known = clusters.map(({ alias }) => alias);
  if (known.length > 0 && !known.includes(cluster)) {
    const message = `is no cluster of the application. Known are: ${known.join(', ')}.`;
    violations.add('FLEET', 'fleet.cluster', cluster, message);
  }
  return fleet;
}

function rootLayers(
  options: EventBusProperties,
  layers: OptionLayers,
  violations: Violations,
): readonly Layer[] {
  const own = readLayer(
    EventBusProperties,
    { source: 'the options', path: '', given: options },
    violations,
  );
  const loaded = loadersOf(options, layers).map(({ source, options: given }) =>
    readLayer(EventBusProperties, { source, path: source, given }, violations),
  );
  for (const layer of loaded) rejectOptionsOnly(layer, violations);
  return [own, ...loaded];
}

/** Keys that a loader cannot set, each with the reason. */
const OPTIONS_ONLY = {
  runtime: 'the bus needs its clock before it reads a loader',
  loaders: 'a loader cannot add other loaders',
} as const;

function rejectOptionsOnly({ path, values }: Layer, violations: Violations): void {
  for (const [key, why] of Object.entries(OPTIONS_ONLY)) {
    if (values[key] === undefined) continue;
    const message = `has no effect here: ${why}. Give it in the options of the module itself.`;
    violations.add('OPTIONS_ONLY', below(path, key), undefined, message);
  }
}

function loadersOf(options: EventBusProperties, layers: OptionLayers): readonly LoadedOptions[] {
  const own: unknown = isPlainObject(options) ? options.loaders : undefined;
  // Leaves out invalid loaders, which are already reported with the options.
  const given = [
    ...(Array.isArray(own) ? own.filter(isLoadedOptions) : []),
    ...(layers.loaders ?? []),
  ];
  return given.map((loader, index) =>
    isLoadedOptions(loader) ? loader : { source: `loaders[${index}]`, options: loader, unused: [] },
  );
}

/** The keys that are merged key by key. */
const MERGED = [
  'enabled',
  'bindingsWithoutHandler',
  'defaults',
  'shutdown',
  'startup',
  'intake',
  'metrics',
  'logContext',
  'lag',
  'fleet',
] as const;

/** Selects what is merged. Maps and references are read from their layers without a merge. */
const mergeable = ({ values, ...layer }: Layer): Layer => ({
  ...layer,
  values: Object.fromEntries(MERGED.map((key) => [key, values[key]])),
});

function enablement(
  { enabled, defaults }: PlainObject,
  clusters: readonly ResolvedCluster[],
): ResolvedOptions['enabled'] {
  const preset = isPlainObject(defaults)
    ? (defaults['preset'] as PresetName | undefined)
    : undefined;
  const setting = enabled ?? (preset && PRESETS[preset].enabled) ?? EVENTBUS_DEFAULTS.enabled;
  if (setting === false) return 'disabled';
  return setting === 'if-configured' && !clusters.some(isReachable) ? 'unconfigured' : 'enabled';
}

function contextOf(
  roots: readonly Layer[],
  clusters: readonly ResolvedCluster[],
  enabled: ResolvedOptions['enabled'],
  { lifecycleManager = true }: OptionLayers,
  violations: Violations,
): BindingContext {
  // Skips the clusters of the bindings if the bus is disabled or its clusters are already reported
  // as missing.
  const isChecked = enabled === 'enabled' && clusters.length > 0;
  const errorTypes = errorTypesOf(roots);
  return deepFreeze({
    defaults: roots.map((root) =>
      rejectUnknownErrors(sectionOf(root, 'defaults'), errorTypes, violations),
    ),
    clusters: isChecked ? clusters.map(({ alias }) => alias) : undefined,
    errorTypes,
    lifecycleManager,
  });
}

interface NamedDraft {
  readonly name: string;
  readonly given: readonly BindingLayer[];
  readonly draft: BindingDraft;
}

function draftAll(
  roots: readonly Layer[],
  layers: OptionLayers,
  context: BindingContext,
  violations: Violations,
): readonly NamedDraft[] {
  const drafts: NamedDraft[] = [];
  const earlier: ResolvedBinding[] = [];
  const validator = new ConfigurationValidator(context);
  for (const [name, given] of bindingLayers(roots, layers, violations)) {
    rejectSingleListener(name, given, violations);
    const draft = draftBinding(name, given, context);
    violations.include(draft.violations);
    drafts.push({ name, given, draft });
    if (!draft.binding) continue;
    violations.include(validator.clashes(draft.binding, earlier));
    earlier.push(draft.binding);
  }
  return drafts;
}

/**
 * Adds the defaults to a section of the application. These sections have no nested keys, so a
 * spread is enough.
 */
function sectionWithDefaults<T extends object>(given: unknown, defaults: T): Readonly<T> {
  return Object.freeze({ ...defaults, ...(isPlainObject(given) ? given : {}) });
}
