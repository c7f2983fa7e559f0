import { ConfigurationValidator } from '../validation/configuration-validator.js';
import { EVENTBUS_DEFAULTS } from '../defaults.js';
import { errorTypesOf, rejectUnknownErrors } from '../error-matching/error-types.js';
import { EventBusProperties } from '../properties/event-bus-properties.js';
import { readFeature, type FeatureProperties } from '../properties/feature-properties.js';
import { rejectConflictingHandlerOptions } from '../reading/conflicting-handler-options.js';
import { unusedTrustedPackages } from '../validation/ineffective-settings.js';
import { keysWithoutEffect } from '../validation/key-register.js';
import { isLoadedOptions, type LoadedOptions } from '../reading/loaded-options.js';
import { mergeLayers, type Layer } from '../reading/merge-layers.js';
import { deepFreeze, isPlainObject, type PlainObject } from '../reading/plain-object.js';
import type { PresetName } from '../reading/preset-name.js';
import { PRESETS } from '../reading/presets.js';
import { readLayer, sectionOf } from '../reading/read-layer.js';
import { draftBinding, type BindingDraft, type BindingLayer } from './resolve-binding.js';
import { isReachable, requireReachable, resolveClusters } from './resolve-clusters.js';
import type { ResolvedBinding } from './resolved-binding.js';
import type { BindingContext, ResolvedCluster, ResolvedOptions } from './resolved-options.js';
import { batchHandlerDefaults, rejectSingleListener } from '../reading/batch-handler-defaults.js';
import type { TopicBindingProperties } from '../properties/topic-binding-properties.js';
import { below, Violations } from '../validation/violations.js';

/** Sources besides the options of the module. */
export interface OptionLayers {
  /** Loaders that rank below the `loaders` of the options; the first one wins. */
  readonly loaders?: readonly (LoadedOptions | Partial<EventBusProperties>)[];
  /** Options of `EventBusModule.forFeature`. They rank as high as the options themselves. */
  readonly features?: readonly { readonly source: string; readonly options: FeatureProperties }[];
  /**
   * Options of decorators. They rank below options and loaders, which may differ by environment,
   * while code does not.
   */
  readonly handlers?: readonly HandlerLayer[];
  /** True if there is a lifecycle manager, which a circuit breaker needs to pause a binding. Default true. */
  readonly lifecycleManager?: boolean;
}

/** Options that a decorator sets for the binding of its handler. */
export interface HandlerLayer {
  readonly binding: string;
  readonly source: string;
  /** `slice` if one call takes a whole slice. */
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
  const drafts = draftAll(roots, layers, context, violations);
  violations.throwIfAny();
  const bindings = drafts.flatMap(({ binding }) => binding ?? []);
  return Object.freeze({
    enabled,
    clusters: Object.freeze(Object.fromEntries(clusters.map((each) => [each.alias, each]))),
    bindings: Object.freeze(bindings),
    bindingsWithoutHandler: (values['bindingsWithoutHandler'] ??
      EVENTBUS_DEFAULTS.bindingsWithoutHandler) as ResolvedOptions['bindingsWithoutHandler'],
    shutdown: sectionWithDefaults(values['shutdown'], EVENTBUS_DEFAULTS.shutdown),
    startup: sectionWithDefaults(values['startup'], EVENTBUS_DEFAULTS.startup),
    intake: sectionWithDefaults(values['intake'], EVENTBUS_DEFAULTS.intake),
    metrics: sectionWithDefaults(values['metrics'], EVENTBUS_DEFAULTS.metrics),
    runtime: roots[0]?.values['runtime'] as ResolvedOptions['runtime'],
    unusedKeys: deepFreeze(loadersOf(options, layers).flatMap(({ unused }) => [...unused])),
    pendingKeys: deepFreeze(pendingKeys(drafts)),
    ineffective: Object.freeze([
      ...drafts.flatMap(({ ineffective }) => ineffective),
      ...unusedTrustedPackages(context.defaults, bindings),
    ]),
    context,
  });
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

/** Keys that a loader cannot set, and the reason. */
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
  // Invalid values were reported with the options.
  const given = [
    ...(Array.isArray(own) ? own.filter(isLoadedOptions) : []),
    ...(layers.loaders ?? []),
  ];
  return given.map((loader, index) =>
    isLoadedOptions(loader) ? loader : { source: `loaders[${index}]`, options: loader, unused: [] },
  );
}

/**
 * Selects the sections that are merged key by key. Maps and references are read from their layers
 * instead.
 */
const mergeable = ({
  values: { enabled, bindingsWithoutHandler, defaults, shutdown, startup, intake, metrics },
  ...layer
}: Layer): Layer => ({
  ...layer,
  values: { enabled, bindingsWithoutHandler, defaults, shutdown, startup, intake, metrics },
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
  // Missing clusters were already reported, or the bus is disabled.
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

function draftAll(
  roots: readonly Layer[],
  layers: OptionLayers,
  context: BindingContext,
  violations: Violations,
): readonly BindingDraft[] {
  const drafts: BindingDraft[] = [];
  const earlier: ResolvedBinding[] = [];
  const validator = new ConfigurationValidator(context);
  for (const [name, given] of bindingLayers(roots, layers, violations)) {
    rejectSingleListener(name, given, violations);
    const draft = draftBinding(name, given, context);
    violations.include(draft.violations);
    drafts.push(draft);
    if (!draft.binding) continue;
    violations.include(validator.clashes(draft.binding, earlier));
    earlier.push(draft.binding);
  }
  return drafts;
}

type LayersByName = Map<string, BindingLayer[]>;

function bindingLayers(
  roots: readonly Layer[],
  { features = [], handlers = [] }: OptionLayers,
  violations: Violations,
): LayersByName {
  rejectConflictingHandlerOptions(handlers, violations);
  const [options, ...loaders] = roots;
  const byName: LayersByName = new Map();
  if (options) addAll(byName, options.source, options.path, options.values['bindings']);
  for (const { source, options: given } of features) {
    const bindings = readFeature(source, given, violations);
    for (const name of Object.keys(bindings)) rejectDuplicate(name, byName, source, violations);
    addAll(byName, source, '', bindings);
  }
  for (const { source, path, values } of loaders) addAll(byName, source, path, values['bindings']);
  for (const { binding, source, form, properties } of handlers) {
    // A handler of a binding that is not configured is reported by matchHandlers.
    if (!byName.has(binding) && properties.topic === undefined) continue;
    add(byName, binding, { source, path: `${source} (${binding})`, properties });
    if (form === 'slice')
      add(byName, binding, batchHandlerDefaults(`@EventHandler.Batch on ${source}`));
  }
  return byName;
}

function addAll(byName: LayersByName, source: string, path: string, bindings: unknown): void {
  if (!isPlainObject(bindings)) return;
  for (const [name, properties] of Object.entries(bindings)) {
    if (properties === undefined) continue;
    const at = below(below(path, 'bindings'), name);
    add(byName, name, { source, path: at, properties: properties as TopicBindingProperties });
  }
}

function add(byName: LayersByName, name: string, layer: BindingLayer): void {
  byName.set(name, [...(byName.get(name) ?? []), layer]);
}

function rejectDuplicate(
  name: string,
  byName: LayersByName,
  source: string,
  violations: Violations,
): void {
  const first = byName.get(name)?.[0];
  if (!first) return;
  const message = `is configured twice, by ${first.source} and by ${source}. Configure it once, or rename one of the two.`;
  violations.add('DUPLICATE_BINDING', below('bindings', name), name, message);
}

const pendingKeys = (drafts: readonly BindingDraft[]): ResolvedOptions['pendingKeys'] =>
  keysWithoutEffect(drafts.flatMap((draft) => draft.layers));

/**
 * Adds the defaults to a section of the application. These sections have no nested keys, so a
 * spread is enough.
 */
function sectionWithDefaults<T extends object>(given: unknown, defaults: T): Readonly<T> {
  return Object.freeze({ ...defaults, ...(isPlainObject(given) ? given : {}) });
}
