import { EVENTBUS_DEFAULTS } from '../defaults.js';
import type { Layer, Merged } from '../reading/merge-layers.js';
import { isPlainObject, type PlainObject } from '../reading/plain-object.js';
import { PRESETS } from '../reading/presets.js';
import type { ResolvedBinding, ResolvedTier } from '../resolving/resolved-binding.js';
import { INEFFECTIVE_RULES, NAMED_BY_STRATEGY, type IneffectiveRule } from './ineffective-rules.js';
import { below, type Violations } from './violations.js';

/**
 * Warns of trusted packages in the defaults that have no effect, because no binding reads typed
 * JSON.
 */
export function unusedTrustedPackages(
  defaults: readonly Layer[],
  bindings: readonly ResolvedBinding[],
): readonly string[] {
  if (bindings.length === 0 || bindings.some(({ deserializer }) => deserializer === 'typed-json'))
    return [];
  const key = 'typedJson.trustedPackages';
  return defaults
    .filter(({ values }) => valueAt(values, key) !== undefined)
    .map(
      ({ path }) =>
        `${below(path, key)} has no effect: no binding reads typed JSON. Register classes in typedJson.types.`,
    );
}

export interface EffectiveLayers {
  readonly binding: ResolvedBinding;
  readonly merged: Merged;
  /** Layers of this binding only, highest first. */
  readonly own: readonly Layer[];
  /** Layers of all sources except the library's defaults, highest first. */
  readonly layers: readonly Layer[];
  readonly path: string;
  readonly isBroken: (key: string) => boolean;
}

/**
 * Adds a violation for each ineffective option that can only be a mistake, and returns warnings for
 * the others.
 */
export function ineffectiveSettings(
  parts: EffectiveLayers,
  violations: Violations,
): readonly string[] {
  const { path } = parts;
  const ineffectiveOptions = oncePerKey([
    ...INEFFECTIVE_RULES.flatMap((rule) => ineffectiveKeys(rule, parts)),
    ...ineffectiveTierSuffixes(parts),
    ...ineffectiveTierDelays(parts),
  ]);
  for (const { key, value, why, isRefused } of ineffectiveOptions) {
    if (!isRefused) continue;
    violations.add('NO_EFFECT', below(path, key), value, `has no effect: ${why}.`);
  }
  return ineffectiveOptions
    .filter(({ isRefused }) => !isRefused)
    .map(({ key, why, source }) => `${below(path, key)} (${source}) has no effect: ${why}.`);
}

/** Keeps one reason for each option, although several others may remove its effect. A refusal wins over a warning. */
function oncePerKey(found: readonly IneffectiveKey[]): readonly IneffectiveKey[] {
  const byKey = new Map<string, IneffectiveKey>();
  for (const each of found) {
    const earlier = byKey.get(each.key);
    if (!earlier || (each.isRefused && !earlier.isRefused)) byKey.set(each.key, each);
  }
  return [...byKey.values()];
}

interface IneffectiveKey {
  readonly key: string;
  readonly value: unknown;
  readonly source: string;
  readonly why: string;
  readonly isRefused: boolean;
}

function ineffectiveKeys(rule: IneffectiveRule, parts: EffectiveLayers): readonly IneffectiveKey[] {
  const { binding, merged } = parts;
  if (!rule.isIneffective(binding, merged.origins)) return [];
  return rule.keys.flatMap((key) => {
    const layer = layerOf(key, rule.because, parts);
    const value = layer && valueAt(layer.values, key);
    if (!layer || (!rule.includesDefault && isDefault(key, value))) return [];
    // The registry's options hold credentials.
    const shown = key.startsWith('schemaRegistry.') ? undefined : value;
    return [{ key, value: shown, source: layer.source, ...refusalOf(rule, parts) }];
  });
}

const isDefault = (key: string, value: unknown): boolean =>
  value === valueAt(EVENTBUS_DEFAULTS.binding, key) || (Array.isArray(value) && value.length === 0);

/** Returns the tiers that the binding itself configures, each as it was written. */
function ownTiers(
  because: string,
  parts: EffectiveLayers,
): { readonly source: string; readonly tiers: readonly PlainObject[] } {
  const layer = layerOf('retry.tiers', because, parts);
  const tiers = layer && valueAt(layer.values, 'retry.tiers');
  if (!layer || !Array.isArray(tiers)) return { source: '', tiers: [] };
  return { source: layer.source, tiers: tiers.map((tier) => (isPlainObject(tier) ? tier : {})) };
}

/** Checks the suffixes of the tiers separately, because the list of tiers is one option. */
function ineffectiveTierSuffixes(parts: EffectiveLayers): readonly IneffectiveKey[] {
  const { naming, preset } = parts.binding;
  if (!naming) return [];
  const { tiers, source } = ownTiers('naming', parts);
  const defaultSuffix = PRESETS[preset].tier.topicSuffix ?? EVENTBUS_DEFAULTS.tier.topicSuffix;
  return tiers.flatMap(({ topicSuffix: value }, index) => {
    if (value === undefined || value === defaultSuffix) return [];
    const key = `retry.tiers[${index}].topicSuffix`;
    const rule = { because: 'naming', why: NAMED_BY_STRATEGY, isRefused: 'always' } as const;
    return [{ key, value, source, ...refusalOf(rule, parts) }];
  });
}

/** Reports a growth of the delay that never happens, or that never reaches its limit. */
function ineffectiveTierDelays(parts: EffectiveLayers): readonly IneffectiveKey[] {
  const { source, tiers } = ownTiers('retry.tiers', parts);
  return tiers.flatMap((given, index) => {
    const tier = parts.binding.retry.tiers[index];
    if (!tier) return [];
    return (['multiplier', 'maxDelayMs'] as const).flatMap((name) => {
      const value = given[name];
      const why = tierDelayComplaint(name, tier);
      if (why === undefined || value === undefined || value === EVENTBUS_DEFAULTS.tier[name])
        return [];
      const key = `retry.tiers[${index}].${name}`;
      return [{ key, value, source, why, isRefused: false }];
    });
  });
}

function tierDelayComplaint(
  name: 'multiplier' | 'maxDelayMs',
  { delayMs, multiplier, maxDelayMs, maxAttempts }: ResolvedTier,
): string | undefined {
  if (maxAttempts === 1) return 'maxAttempts is 1: the tier has a single delay, of delayMs';
  if (name === 'multiplier')
    return maxDelayMs <= delayMs
      ? `maxDelayMs (${maxDelayMs}) does not let the delay grow: raise it above delayMs (${delayMs})`
      : undefined;
  if (multiplier === 1) return 'multiplier is 1: the delay does not grow';
  const longest = delayMs * multiplier ** (maxAttempts - 1);
  if (maxDelayMs <= delayMs || longest > maxDelayMs) return undefined;
  return `the longest delay is ${longest} ms: lower maxDelayMs below that, or leave it out`;
}

/**
 * Decides between a refusal and a warning. If the naming strategy is one for all bindings, a suffix
 * only causes a warning: it may be meant for bindings that have no strategy.
 */
function refusalOf(
  { because, why: reason, isRefused }: Pick<IneffectiveRule, 'because' | 'why' | 'isRefused'>,
  { binding, merged, own, layers }: EffectiveLayers,
): Pick<IneffectiveKey, 'why' | 'isRefused'> {
  const causeLayer = merged.origins.get(because) as Layer;
  const why = typeof reason === 'string' ? reason : reason(binding);
  if (because === 'naming' && !own.includes(causeLayer)) return { why, isRefused: false };
  const isExplicit = isRefused === 'unless-explicit' && layers.includes(causeLayer);
  return { why, isRefused: isRefused !== undefined && !isExplicit };
}

/**
 * Returns the layer that sets the key for this binding. Returns undefined if a higher layer sets
 * `because`: then code may have set both options, and an environment has overridden one of them.
 */
function layerOf(key: string, because: string, parts: EffectiveLayers): Layer | undefined {
  const { merged, own, layers, isBroken } = parts;
  const layer = merged.origins.get(key);
  if (!layer || !own.includes(layer) || isBroken(key) || isBroken(because)) return undefined;
  const above = layers.indexOf(merged.origins.get(because) as Layer);
  return above !== -1 && above < layers.indexOf(layer) ? undefined : layer;
}

const valueAt = (values: unknown, key: string): unknown =>
  key.split('.').reduce<unknown>((at, part) => (isPlainObject(at) ? at[part] : undefined), values);
