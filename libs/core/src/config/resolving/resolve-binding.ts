import type { ConfigurationViolation } from '../../errors/configuration-validation-exception.js';
import { ConfigurationValidator } from '../validation/configuration-validator.js';
import { EVENTBUS_DEFAULTS } from '../defaults.js';
import { rejectUnknownErrors, withClass, type ErrorTypes } from '../error-matching/error-types.js';
import { ineffectiveSettings } from '../validation/ineffective-settings.js';
import { RUNTIME_KEYS, valueAt } from '../runtime-keys.js';
import { mergeLayers, type Layer, type Merged } from '../reading/merge-layers.js';
import { suggestion } from '../../model/nearest-name.js';
import { checkName } from '../reading/names.js';
import { deepFreeze, freezeSettings } from '../reading/plain-object.js';
import type { PresetName } from '../reading/preset-name.js';
import { PRESETS } from '../reading/presets.js';
import { isBrokenIn, readLayer } from '../reading/read-layer.js';
import { requireGroupProtocol } from '../validation/require-group-protocol.js';
import { requireIdempotencyStore } from '../validation/require-idempotency-store.js';
import { requireProcessing } from '../validation/require-processing.js';
import { requireTransactions } from '../validation/require-transactions.js';
import { allLayers } from './precedence.js';
import { requireRoutes, resolveRoutes } from './resolve-exception-routes.js';
import { requireFormatParts, resolveFormats } from './resolve-formats.js';
import type { ResolvedBinding, ResolvedTier } from './resolved-binding.js';
import type { BindingContext } from './resolved-options.js';
import { formatValue } from '../reading/format-value.js';
import { TopicBindingProperties } from '../properties/topic-binding-properties.js';
import { topicNames } from './topic-naming.js';
import { below, Violations } from '../validation/violations.js';

/** Options of one binding from one source, not yet validated. */
export interface BindingLayer {
  /** Name of the source in messages: `the options`, `@EventHandler on OrderHandlers.onPlaced`. */
  readonly source: string;
  /** Path of the keys in messages. Default `bindings.<name>`. */
  readonly path?: string;
  readonly properties: Partial<TopicBindingProperties>;
}

/** The value of an option, and the source that has set it. */
export interface BindingSetting {
  readonly value: unknown;
  readonly source: string;
  readonly isDefault: boolean;
}

/** Result of resolving a binding: `binding` is undefined if and only if there are violations. */
export interface BindingDraft {
  readonly binding: ResolvedBinding | undefined;
  readonly layers: readonly Layer[];
  /** The options that are shown to operators, by their paths. */
  readonly settings: ReadonlyMap<string, BindingSetting>;
  /** Warnings about options without effect that may be intended. */
  readonly ineffective: readonly string[];
  readonly violations: readonly ConfigurationViolation[];
}

const LIBRARY: Layer = Object.freeze({
  source: "the library's defaults",
  path: 'EVENTBUS_DEFAULTS.binding',
  values: EVENTBUS_DEFAULTS.binding,
});

/**
 * Resolves all options of one binding. The given layers come from the options, a decorator or a
 * registration, the highest first. Below them are, in this order: the defaults of the application,
 * the preset, and the defaults of the library. The highest layer that names a preset chooses it.
 * The `defaults` of the application override the preset even if the binding names it, because they
 * were written for this application.
 */
export function resolveBinding(
  name: string,
  layers: readonly BindingLayer[],
  context: BindingContext,
  others: readonly ResolvedBinding[] = [],
): ResolvedBinding {
  return resolveDraft(name, layers, context, others).binding;
}

/** Resolves like `resolveBinding`, and also returns the warnings. */
export function resolveDraft(
  name: string,
  layers: readonly BindingLayer[],
  context: BindingContext,
  others: readonly ResolvedBinding[] = [],
): BindingDraft & { readonly binding: ResolvedBinding } {
  const draft = draftBinding(name, layers, context);
  const { binding } = draft;
  const all = new Violations();
  all.include(draft.violations);
  if (binding) all.include(new ConfigurationValidator(context).clashes(binding, others));
  all.throwIfAny();
  return { ...draft, binding: binding as ResolvedBinding };
}

/** Resolves like `resolveBinding`, but returns the violations and does not throw them. */
export function draftBinding(
  name: string,
  given: readonly BindingLayer[],
  context: BindingContext,
): BindingDraft {
  const path = below('bindings', name);
  const violations = new Violations(name);
  checkName('binding', name, path, violations);
  const own = given.map(({ properties, ...layer }) =>
    rejectUnknownErrors(
      readLayer(TopicBindingProperties, { path, ...layer, given: properties }, violations),
      context.errorTypes,
      violations,
    ),
  );
  const preset = presetOf([...own, ...context.defaults]);
  const application = [...own, ...context.defaults];
  const ordered = allLayers(own, {
    defaults: [...context.defaults, ...configuredCircuitBreaker(application)],
    preset: presetLayer(preset),
    library: LIBRARY,
  });
  const merged = mergeLayers(ordered);
  const layers = ordered.filter((layer) => layer !== LIBRARY);
  const isBroken = (key: string) => isBrokenIn(layers, key);

  requireKeys(merged, path, isBroken, violations);
  requireDelays(merged, preset, path, violations);
  requireSkips(merged, path, isBroken, violations);
  requireRoutes(merged, path, isBroken, violations);
  requireFormatParts(merged, path, isBroken, violations);
  requireIdempotencyStore(merged, LIBRARY, path, isBroken, violations);
  requireGroupProtocol(merged, layers, path, isBroken, violations);
  requireProcessing(merged, LIBRARY, path, isBroken, violations);
  requireTransactions(merged, LIBRARY, path, isBroken, violations);
  requireCluster(merged, path, context, isBroken, violations);
  const binding = complete(name, merged, preset, context.errorTypes, violations);
  const ineffective = ineffectiveSettings(
    { binding, merged, own, layers, path, isBroken },
    violations,
  );
  violations.include(
    new ConfigurationValidator(context).violationsOf(binding, {
      isBroken: (key) => isBroken(key) || violations.touches(below(path, key)),
      origins: merged.origins,
    }),
  );
  return {
    binding: violations.all.length === 0 ? deepFreeze(binding) : undefined,
    layers,
    settings: settingsOf(merged),
    ineffective,
    violations: violations.all,
  };
}

function settingsOf({ origins, values }: Merged): BindingDraft['settings'] {
  const settings = new Map<string, BindingSetting>();
  for (const path of RUNTIME_KEYS.keys()) {
    const layer = origins.get(path);
    const value = valueAt(values, path);
    if (layer && value !== undefined)
      settings.set(path, { value, source: layer.source, isDefault: layer === LIBRARY });
  }
  return settings;
}

const presetOf = (layers: readonly Layer[]): PresetName => {
  const layer = layers.find(({ values }) => values['preset'] !== undefined);
  return (layer?.values['preset'] as PresetName | undefined) ?? EVENTBUS_DEFAULTS.binding.preset;
};

const presetLayer = (preset: PresetName): Layer => ({
  source: `preset '${preset}'`,
  path: `PRESETS.${preset}`,
  values: { ...PRESETS[preset].binding },
});

/**
 * Switches the circuit breaker on for an application that configures it. The layer ranks below the
 * application, so that an explicit `enabled` wins, and above the preset, whose own values switch
 * nothing on.
 */
function configuredCircuitBreaker(application: readonly Layer[]): readonly Layer[] {
  const layer = application.find(({ values }) => values['circuitBreaker'] !== undefined);
  if (!layer) return [];
  return [
    {
      source: `circuitBreaker in ${layer.source}`,
      path: below(layer.path, 'circuitBreaker'),
      values: { circuitBreaker: { enabled: true } },
    },
  ];
}

function requireKeys(
  { values }: Merged,
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const missing = {
    topic: `is missing: every binding reads a topic. Add topic: 'the-topic'.`,
    groupId: `is missing: every binding reads in a consumer group. Add groupId: 'the-group' here, or in defaults for all bindings.`,
  };
  for (const [key, message] of Object.entries(missing)) {
    if (values[key] === undefined && !isBroken(key)) {
      violations.add('REQUIRED', below(path, key), undefined, message);
    }
  }
}

/**
 * Requires a delay for every tier from the fourth on, because the library has default delays for
 * three tiers only.
 */
function requireDelays(
  merged: Merged,
  preset: PresetName,
  path: string,
  violations: Violations,
): void {
  tiersOf(merged, preset).forEach(({ delayMs }, index) => {
    if (delayMs !== undefined) return;
    const key = `retry.tiers[${index}].delayMs`;
    const message = `is missing: only the first three tiers have a delay by default. Add delayMs: '10m', longer than that of tier ${index}.`;
    if (!violations.touches(below(path, key))) {
      violations.add('REQUIRED', below(path, key), undefined, message);
    }
  });
}

function requireSkips(
  { values }: Merged,
  path: string,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const { skipToTierMapping } = values['retry'] as Pick<
    ResolvedBinding['retry'],
    'skipToTierMapping'
  >;
  skipToTierMapping.forEach((entry, index) => {
    for (const key of ['match', 'tier'] as const) {
      const keyPath = `retry.skipToTierMapping[${index}].${key}`;
      if (entry[key] !== undefined || isBroken(keyPath)) continue;
      const message = `is missing: an entry names an error and the tier it skips to. Write { match: 'TimeoutError', tier: 1 }.`;
      violations.add('REQUIRED', below(path, keyPath), undefined, message);
    }
  });
}

function requireCluster(
  { values }: Merged,
  path: string,
  { clusters }: BindingContext,
  isBroken: (key: string) => boolean,
  violations: Violations,
): void {
  const cluster = String(values['cluster']);
  if (!clusters || clusters.includes(cluster) || isBroken('cluster')) return;
  const message = `there is no cluster ${formatValue(cluster)}. ${clusters.length === 0 ? 'None is configured: add it to clusters.' : suggestion(cluster, clusters)}`;
  violations.add('UNKNOWN_CLUSTER', below(path, 'cluster'), cluster, message);
}

type TierDraft = Omit<ResolvedTier, 'delayMs' | 'number' | 'topic' | 'groupId'> & {
  readonly delayMs: number | undefined;
};

/**
 * Returns the configured tiers. The default tiers are used only if no tiers are configured and the
 * ordering is not STRICT.
 */
function tiersOf({ values, origins }: Merged, preset: PresetName): readonly TierDraft[] {
  const areDefaults = origins.get('retry.tiers') === LIBRARY;
  if (areDefaults && values['orderingMode'] === 'STRICT') return [];
  const { tiers } = values['retry'] as { readonly tiers: readonly Partial<TierDraft>[] };
  return tiers.map((tier, index) => ({
    delayMs: EVENTBUS_DEFAULTS.binding.retry.tiers[index]?.delayMs,
    ...EVENTBUS_DEFAULTS.tier,
    ...PRESETS[preset].tier,
    ...tier,
  }));
}

type MergedValues = Omit<ResolvedBinding, 'topic' | 'groupId' | 'maxPollRecords' | 'dlt'> & {
  readonly topic?: string;
  readonly groupId?: string;
  readonly maxPollRecords: number | (typeof EVENTBUS_DEFAULTS)['binding']['maxPollRecords'];
  readonly dlt: Omit<ResolvedBinding['dlt'], 'topic'> & { readonly topic?: string };
};

function complete(
  name: string,
  merged: Merged,
  preset: PresetName,
  types: ErrorTypes | undefined,
  violations: Violations,
): ResolvedBinding {
  const values = merged.values as unknown as MergedValues;
  // Uses '' for a missing or invalid text, which is already reported. Rules that read such a key
  // are skipped.
  const { topic = '', groupId = '', listenerType, retry, dlt, naming } = values;
  const tiers = tiersOf(merged, preset);
  const names = topicNames(
    {
      path: below('bindings', name),
      topic,
      naming: topic === '' ? undefined : naming,
      retrySuffixes: tiers.map(({ topicSuffix }) => topicSuffix),
      deadLetter: dlt,
    },
    violations,
  );
  return {
    ...values,
    name,
    preset,
    topic,
    groupId,
    maxPollRecords: maxPollRecordsOf(values.maxPollRecords, listenerType),
    assignmentStrategy: [values.assignmentStrategy].flat(),
    ...resolveFormats(merged, (key) => merged.origins.get(key) !== LIBRARY),
    exceptionRouting: resolveRoutes(merged, types),
    retry: {
      ...retry,
      ...exceptionsOf(retry, types),
      tiers: tiers.map(({ delayMs = 0, ...tier }, index) => ({
        delayMs,
        ...tier,
        number: index + 1,
        topic: names.retry[index]!,
        groupId: `${groupId}.retry-${index + 1}`,
      })),
    },
    dlt: freezeSettings({ ...dlt, topic: names.deadLetter }),
  };
}

const exceptionsOf = (
  { retryableExceptions, nonRetryableExceptions, skipToTierMapping }: ResolvedBinding['retry'],
  types: ErrorTypes | undefined,
) => ({
  retryableExceptions: retryableExceptions.map((matcher) => withClass(matcher, types)),
  nonRetryableExceptions: nonRetryableExceptions.map((matcher) => withClass(matcher, types)),
  skipToTierMapping: skipToTierMapping.map((skip) =>
    freezeSettings({ ...skip, match: withClass(skip.match, types) }),
  ),
});

const maxPollRecordsOf = (
  given: MergedValues['maxPollRecords'],
  listenerType: ResolvedBinding['listenerType'],
): number => (typeof given === 'number' ? given : given[listenerType]);
