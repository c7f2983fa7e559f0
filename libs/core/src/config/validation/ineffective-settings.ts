import { EVENTBUS_DEFAULTS } from '../defaults.js';
import type { Layer, Merged } from '../reading/merge-layers.js';
import { isPlainObject } from '../reading/plain-object.js';
import { PRESETS } from '../reading/presets.js';
import type { ResolvedBinding } from '../resolving/resolved-binding.js';
import { below, type Violations } from './violations.js';

/** What somebody said of one binding, and what does nothing because of something else that is said. */
interface InertRule {
  readonly keys: readonly string[];
  /** What takes the effect away. Who overrides it elsewhere may leave the rest as it was. */
  readonly because: string;
  readonly isInert: (binding: ResolvedBinding, origins: Merged['origins']) => boolean;
  readonly why: string;
  /**
   * Surely a mistake, and refused: always, or unless somebody says what takes the effect away, since
   * an environment may switch it. What may be meant for later, or for other bindings, is warned of.
   */
  readonly isRefused?: 'always' | 'unless-said';
}

const NAMED_BY_STRATEGY = 'naming names the topics: leave the suffix out, or the strategy';

const RULES: readonly InertRule[] = [
  {
    keys: ['strictExhaustion'],
    because: 'orderingMode',
    isInert: ({ orderingMode }) => orderingMode !== 'STRICT',
    why: "orderingMode is not 'STRICT': set it to 'STRICT', or leave strictExhaustion out",
    isRefused: 'unless-said',
  },
  {
    keys: ['groupInstanceId'],
    because: 'staticMembership',
    isInert: ({ staticMembership }) => !staticMembership,
    why: 'staticMembership is false: set it to true, or leave groupInstanceId out',
    isRefused: 'unless-said',
  },
  {
    keys: ['dlt.redact'],
    because: 'dlt.exceptionDetail',
    isInert: ({ dlt }) => dlt.exceptionDetail === 'class',
    why: "dlt.exceptionDetail is 'class', which writes nothing that could be redacted: leave one of them out",
  },
  {
    keys: ['dlt.topicSuffix'],
    because: 'dlt.topic',
    isInert: (_, origins) => origins.has('dlt.topic'),
    why: 'dlt.topic is the whole name: leave one of them out',
    isRefused: 'always',
  },
  {
    keys: ['dlt.topicSuffix'],
    because: 'naming',
    isInert: ({ naming }, origins) => naming !== undefined && !origins.has('dlt.topic'),
    why: NAMED_BY_STRATEGY,
    isRefused: 'always',
  },
  {
    keys: ['batchFailureStrategy', 'batchRedeliveries'],
    because: 'listenerType',
    isInert: ({ listenerType }) => listenerType !== 'BATCH',
    why: 'the listener takes single records: it is for BATCH listeners',
  },
  {
    keys: ['batchRedeliveries'],
    because: 'batchFailureStrategy',
    isInert: ({ listenerType, batchFailureStrategy }) =>
      listenerType === 'BATCH' && batchFailureStrategy !== 'SEEK_TO_FAILED',
    why: "batchFailureStrategy is not 'SEEK_TO_FAILED'",
  },
  {
    keys: ['retry.tiers'],
    because: 'batchFailureStrategy',
    isInert: ({ listenerType, batchFailureStrategy, retry }) =>
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
    isInert: ({ provisioning }) => provisioning !== 'create',
    why: "provisioning is not 'create': no topic is created",
  },
  {
    keys: ['typedJson.types', 'typedJson.trustedPackages'],
    because: 'deserializer',
    isInert: ({ deserializer }) => deserializer !== 'typed-json',
    why: "deserializer is not 'typed-json'",
  },
];

/** Of a list that files give for all bindings: it trusts what nobody registers. */
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
  /** What was said of this binding, and of no other. Highest first, as are the next. */
  readonly own: readonly Layer[];
  /** All that is said anywhere but in the library. */
  readonly layers: readonly Layer[];
  readonly path: string;
  readonly isBroken: (key: string) => boolean;
}

/** Refuses what is surely a mistake; gives what there is to be warned of besides. */
export function ineffectiveSettings(
  parts: EffectiveLayers,
  violations: Violations,
): readonly string[] {
  const { path } = parts;
  const found = [
    ...RULES.flatMap((rule) => ineffectiveKeys(rule, parts)),
    ...ineffectiveTierSuffixes(parts),
  ];
  for (const { key, value, why, isRefused } of found) {
    if (!isRefused) continue;
    violations.add('NO_EFFECT', below(path, key), value, `has no effect: ${why}.`);
  }
  return found
    .filter(({ isRefused }) => !isRefused)
    .map(({ key, why, source }) => `${below(path, key)} (${source}) has no effect: ${why}.`);
}

interface Inert {
  readonly key: string;
  readonly value: unknown;
  readonly source: string;
  readonly why: string;
  readonly isRefused: boolean;
}

function ineffectiveKeys(rule: InertRule, parts: EffectiveLayers): readonly Inert[] {
  const { binding, merged } = parts;
  if (!rule.isInert(binding, merged.origins)) return [];
  return rule.keys.flatMap((key) => {
    const layer = layerOf(key, rule.because, parts);
    const value = layer && valueAt(layer.values, key);
    if (!layer || value === valueAt(EVENTBUS_DEFAULTS.binding, key)) return [];
    return [{ key, value, source: layer.source, ...verdict(rule, parts) }];
  });
}

/** The list of tiers is one setting, whose items have suffixes of their own. */
function ineffectiveTierSuffixes(parts: EffectiveLayers): readonly Inert[] {
  const { naming, preset } = parts.binding;
  const layer = naming && layerOf('retry.tiers', 'naming', parts);
  const tiers = layer && valueAt(layer.values, 'retry.tiers');
  if (!layer || !Array.isArray(tiers)) return [];
  const usual = PRESETS[preset].tier.topicSuffix ?? EVENTBUS_DEFAULTS.tier.topicSuffix;
  return tiers.flatMap((tier: unknown, index) => {
    const value = isPlainObject(tier) ? tier['topicSuffix'] : undefined;
    if (value === undefined || value === usual) return [];
    const key = `retry.tiers[${index}].topicSuffix`;
    const rule = { because: 'naming', why: NAMED_BY_STRATEGY, isRefused: 'always' } as const;
    return [{ key, value, source: layer.source, ...verdict(rule, parts) }];
  });
}

/** What a strategy for all bindings takes away may be wanted where there is none. */
function verdict(
  { because, why, isRefused }: Pick<InertRule, 'because' | 'why' | 'isRefused'>,
  { merged, own, layers }: EffectiveLayers,
): Pick<Inert, 'why' | 'isRefused'> {
  const said = merged.origins.get(because) as Layer;
  if (because === 'naming' && !own.includes(said)) return { why, isRefused: false };
  const isSwitched = isRefused === 'unless-said' && layers.includes(said);
  return { why, isRefused: isRefused !== undefined && !isSwitched };
}

/**
 * Who said it of this binding, unless what takes its effect away was said above it: code says both,
 * and an environment changes one.
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
