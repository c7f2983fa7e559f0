import { EVENTBUS_DEFAULTS } from '../defaults.js';
import type { Layer, Merged } from '../reading/merge-layers.js';
import { isPlainObject } from '../reading/plain-object.js';
import { PRESETS } from '../reading/presets.js';
import type { ResolvedBinding } from '../resolving/resolved-binding.js';
import { below, type Violations } from './violations.js';

/** A rule for options of a binding that have no effect because of another option. */
interface IneffectiveRule {
  readonly keys: readonly string[];
  /** Key of the option that removes the effect. */
  readonly because: string;
  readonly isIneffective: (binding: ResolvedBinding, origins: Merged['origins']) => boolean;
  readonly why: string;
  /**
   * Set if the option is certainly a mistake and refused: always, or unless the option `because` was set
   * explicitly, since an environment may switch that one. Left out, there is only a warning, because
   * the option may be intended for later or for other bindings.
   */
  readonly isRefused?: 'always' | 'unless-explicit';
}

const NAMED_BY_STRATEGY = 'naming names the topics: leave the suffix out, or the strategy';

const RULES: readonly IneffectiveRule[] = [
  {
    keys: ['strictExhaustion'],
    because: 'orderingMode',
    isIneffective: ({ orderingMode }) => orderingMode !== 'STRICT',
    why: "orderingMode is not 'STRICT': set it to 'STRICT', or leave strictExhaustion out",
    isRefused: 'unless-explicit',
  },
  {
    keys: ['groupInstanceId'],
    because: 'staticMembership',
    isIneffective: ({ staticMembership }) => !staticMembership,
    why: 'staticMembership is false: set it to true, or leave groupInstanceId out',
    isRefused: 'unless-explicit',
  },
  {
    keys: ['dlt.redact'],
    because: 'dlt.exceptionDetail',
    isIneffective: ({ dlt }) => dlt.exceptionDetail === 'class',
    why: "dlt.exceptionDetail is 'class', which writes nothing that could be redacted: leave one of them out",
  },
  {
    keys: ['dlt.topicSuffix'],
    because: 'dlt.topic',
    isIneffective: (_, origins) => origins.has('dlt.topic'),
    why: 'dlt.topic is the whole name: leave one of them out',
    isRefused: 'always',
  },
  {
    keys: ['dlt.topicSuffix'],
    because: 'naming',
    isIneffective: ({ naming }, origins) => naming !== undefined && !origins.has('dlt.topic'),
    why: NAMED_BY_STRATEGY,
    isRefused: 'always',
  },
  {
    keys: ['batchFailureStrategy', 'batchRedeliveries'],
    because: 'listenerType',
    isIneffective: ({ listenerType }) => listenerType !== 'BATCH',
    why: 'the listener takes single records: it is for BATCH listeners',
  },
  {
    keys: ['batchRedeliveries'],
    because: 'batchFailureStrategy',
    isIneffective: ({ listenerType, batchFailureStrategy }) =>
      listenerType === 'BATCH' && batchFailureStrategy !== 'SEEK_TO_FAILED',
    why: "batchFailureStrategy is not 'SEEK_TO_FAILED'",
  },
  {
    keys: ['retry.tiers'],
    because: 'batchFailureStrategy',
    isIneffective: ({ listenerType, batchFailureStrategy, retry }) =>
      listenerType === 'BATCH' &&
      batchFailureStrategy === 'DLQ_AND_CONTINUE' &&
      retry.tiers.length > 0,
    why: "batchFailureStrategy is 'DLQ_AND_CONTINUE', which writes what failed to the dead-letter topic at once",
  },
  {
    keys: [
      'topics.partitions',
      'topics.retentionDays',
      'topics.replicationFactor',
      'topics.retry.partitions',
      'topics.retry.retentionDays',
      'topics.dlt.partitions',
      'topics.dlt.retentionDays',
    ],
    because: 'provisioning',
    isIneffective: ({ provisioning }) => provisioning !== 'create',
    why: "provisioning is not 'create': no topic is created",
  },
  {
    keys: ['typedJson.types', 'typedJson.trustedPackages'],
    because: 'deserializer',
    isIneffective: ({ deserializer }) => deserializer !== 'typed-json',
    why: "deserializer is not 'typed-json'",
  },
];

/** Warns of trusted packages in the defaults if no binding reads typed JSON, so that they have no effect. */
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

/** Adds a violation for each option that is certainly a mistake, and returns warnings for the others. */
export function ineffectiveSettings(
  parts: EffectiveLayers,
  violations: Violations,
): readonly string[] {
  const { path } = parts;
  const ineffectiveOptions = [
    ...RULES.flatMap((rule) => ineffectiveKeys(rule, parts)),
    ...ineffectiveTierSuffixes(parts),
  ];
  for (const { key, value, why, isRefused } of ineffectiveOptions) {
    if (!isRefused) continue;
    violations.add('NO_EFFECT', below(path, key), value, `has no effect: ${why}.`);
  }
  return ineffectiveOptions
    .filter(({ isRefused }) => !isRefused)
    .map(({ key, why, source }) => `${below(path, key)} (${source}) has no effect: ${why}.`);
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
    if (!layer || value === valueAt(EVENTBUS_DEFAULTS.binding, key)) return [];
    return [{ key, value, source: layer.source, ...refusalOf(rule, parts) }];
  });
}

/** Checks the suffixes of the tiers separately, because the list of tiers is one option. */
function ineffectiveTierSuffixes(parts: EffectiveLayers): readonly IneffectiveKey[] {
  const { naming, preset } = parts.binding;
  const layer = naming && layerOf('retry.tiers', 'naming', parts);
  const tiers = layer && valueAt(layer.values, 'retry.tiers');
  if (!layer || !Array.isArray(tiers)) return [];
  const defaultSuffix = PRESETS[preset].tier.topicSuffix ?? EVENTBUS_DEFAULTS.tier.topicSuffix;
  return tiers.flatMap((tier: unknown, index) => {
    const value = isPlainObject(tier) ? tier['topicSuffix'] : undefined;
    if (value === undefined || value === defaultSuffix) return [];
    const key = `retry.tiers[${index}].topicSuffix`;
    const rule = { because: 'naming', why: NAMED_BY_STRATEGY, isRefused: 'always' } as const;
    return [{ key, value, source: layer.source, ...refusalOf(rule, parts) }];
  });
}

/**
 * Decides between refusal and warning. A naming strategy for all bindings only causes a warning,
 * because a suffix may be meant for bindings without it.
 */
function refusalOf(
  { because, why, isRefused }: Pick<IneffectiveRule, 'because' | 'why' | 'isRefused'>,
  { merged, own, layers }: EffectiveLayers,
): Pick<IneffectiveKey, 'why' | 'isRefused'> {
  const causeLayer = merged.origins.get(because) as Layer;
  if (because === 'naming' && !own.includes(causeLayer)) return { why, isRefused: false };
  const isExplicit = isRefused === 'unless-explicit' && layers.includes(causeLayer);
  return { why, isRefused: isRefused !== undefined && !isExplicit };
}

/**
 * Returns the layer that sets the key for this binding. Returns undefined if a higher layer sets the
 * option that removes the effect: code may set both, and an environment change one of them.
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
