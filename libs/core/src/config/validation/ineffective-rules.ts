import { DltStrategy } from '../../model/outcomes/dlt-strategy.js';
import type { Merged } from '../reading/merge-layers.js';
import { readsAvro } from '../resolving/resolve-formats.js';
import type { ResolvedBinding } from '../resolving/resolved-binding.js';

/** A rule for options of a binding that have no effect because of another option. */
export interface IneffectiveRule {
  readonly keys: readonly string[];
  /** Key of the option that removes the effect. */
  readonly because: string;
  readonly isIneffective: (binding: ResolvedBinding, origins: Merged['origins']) => boolean;
  readonly why: string | ((binding: ResolvedBinding) => string);
  /**
   * Set if the option is certainly a mistake and refused: always, or unless the option `because` was set
   * explicitly, since an environment may switch that one. Left out, there is only a warning, because
   * the option may be intended for later or for other bindings.
   */
  readonly isRefused?: 'always' | 'unless-explicit';
  /** Set if the default value is reported, too, because a preset or `defaults` may have another one. */
  readonly includesDefault?: true;
}

export const NAMED_BY_STRATEGY = 'naming names the topics: leave the suffix out, or the strategy';

const REGISTRY_KEYS = [
  'schemaRegistry.auth',
  'schemaRegistry.headers',
  'schemaRegistry.timeoutMs',
  'schemaRegistry.cacheSize',
] as const;

export const INEFFECTIVE_RULES: readonly IneffectiveRule[] = [
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
    isIneffective: (binding) => deadLettersAtOnce(binding) && binding.retry.tiers.length > 0,
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
  {
    keys: [
      'circuitBreaker.failureRateThreshold',
      'circuitBreaker.slowCallRateThreshold',
      'circuitBreaker.slowCallDurationMs',
      'circuitBreaker.waitDurationInOpenStateMs',
      'circuitBreaker.slidingWindowSize',
      'circuitBreaker.minimumNumberOfCalls',
      'circuitBreaker.permittedNumberOfCallsInHalfOpenState',
      'circuitBreaker.automaticPauseOnOpen',
    ],
    because: 'circuitBreaker.enabled',
    isIneffective: ({ circuitBreaker }) => !circuitBreaker.enabled,
    why: 'circuitBreaker.enabled is false: leave that out, or set it to true',
  },
  {
    keys: ['dlt.verifyTopic'],
    because: 'provisioning',
    isIneffective: ({ provisioning }) => provisioning !== 'none',
    why: "provisioning is not 'none', and checks the dead-letter topic anyway: leave verifyTopic out",
  },
  {
    keys: ['dlt.handlerTimeoutMs'],
    because: 'dlt.strategy',
    isIneffective: ({ dlt }) =>
      dlt.strategy !== DltStrategy.ALERT_AND_STORE && dlt.strategy !== DltStrategy.CUSTOM,
    why: "dlt.strategy calls no method: set it to 'ALERT_AND_STORE' or 'CUSTOM', or leave handlerTimeoutMs out",
    isRefused: 'unless-explicit',
  },
  ...onBudgetExceededRules(),
  {
    keys: ['exceptionRouting', 'retry.skipToTierMapping'],
    because: 'classifier',
    isIneffective: ({ classifier }) => classifier !== undefined,
    why: 'classifier decides where failed records go, and only a failure in it is decided without it: move the rules into the classifier, or leave one of them out',
  },
  {
    keys: ['stuckHandlerMs'],
    because: 'maxPollIntervalMs',
    isIneffective: ({ stuckHandlerMs, maxPollIntervalMs }) => stuckHandlerMs >= maxPollIntervalMs,
    why: ({ maxPollIntervalMs }) =>
      `maxPollIntervalMs (${maxPollIntervalMs}) ends the handler's time first: lower stuckHandlerMs below it, or leave it out`,
    isRefused: 'unless-explicit',
  },
  {
    keys: ['rebalance.drainTimeoutMs'],
    because: 'maxPollIntervalMs',
    isIneffective: ({ rebalance, maxPollIntervalMs }) =>
      rebalance.drainTimeoutMs > maxPollIntervalMs,
    why: ({ maxPollIntervalMs }) =>
      `the group goes on without a member that drains for longer than maxPollIntervalMs (${maxPollIntervalMs}): lower the drain time to that, or raise maxPollIntervalMs`,
    isRefused: 'unless-explicit',
  },
  {
    keys: [
      'retry.tier0.initialBackoffMs',
      'retry.tier0.multiplier',
      'retry.tier0.maxBackoffMs',
      'retry.tier0.maxElapsedMs',
      'retry.tier0.jitter',
    ],
    because: 'retry.tier0.maxAttempts',
    isIneffective: ({ retry }) => retry.tier0.maxAttempts === 1,
    why: 'retry.tier0.maxAttempts is 1: a single call is followed by no wait',
  },
  {
    keys: [
      'retry.tier0.maxAttempts',
      'retry.tier0.initialBackoffMs',
      'retry.tier0.multiplier',
      'retry.tier0.maxBackoffMs',
      'retry.tier0.maxElapsedMs',
      'retry.tier0.jitter',
    ],
    because: 'batchFailureStrategy',
    isIneffective: deadLettersAtOnce,
    why: "batchFailureStrategy is 'DLQ_AND_CONTINUE', which makes one call",
  },
  {
    keys: ['retry.tier0.multiplier'],
    because: 'retry.tier0.maxAttempts',
    isIneffective: ({ retry }) => retry.tier0.maxAttempts === 2,
    why: 'retry.tier0.maxAttempts is 2: there is a single wait, of initialBackoffMs',
  },
  {
    keys: ['retry.mode'],
    because: 'listenerType',
    isIneffective: ({ listenerType, retry }) =>
      listenerType === 'BATCH' && retry.mode === 'in-line',
    why: "BATCH listeners always retry as with 'seek': leave retry.mode out",
    includesDefault: true,
  },
  {
    keys: ['retry.poisonAfter'],
    because: 'retry.tiers',
    isIneffective: (binding) =>
      isLimitedToItsCalls(binding) && binding.retry.poisonAfter > mostCalls(binding),
    why: (binding) =>
      `a record gets at most ${callsText(mostCalls(binding))}, with those in all its retry topics: lower poisonAfter, or set it to 0`,
  },
  {
    keys: ['schemaRegistry.url', ...REGISTRY_KEYS],
    because: 'deserializer',
    isIneffective: (binding) => binding.schemaRegistry !== undefined && !readsAvro(binding),
    why: "neither deserializer nor keyDeserializer is 'avro': leave one of them out",
  },
  {
    keys: REGISTRY_KEYS,
    because: 'schemaRegistry.url',
    isIneffective: (binding) => binding.schemaRegistry === undefined && !readsAvro(binding),
    why: "schemaRegistry.url is missing: add url: 'http://registry:8081', or leave schemaRegistry out",
    isRefused: 'always',
  },
  {
    keys: ['schemaVersion.from'],
    because: 'schemaVersion.supported',
    isIneffective: ({ schemaVersion }) => schemaVersion.supported.length === 0,
    why: "schemaVersion.supported is empty: list the versions, supported: ['1'], or leave schemaVersion out",
    isRefused: 'unless-explicit',
  },
  {
    keys: ['commit.strict'],
    because: 'transactions.enabled',
    isIneffective: ({ transactions }) => transactions.enabled,
    why: 'transactions.enabled is true: no record begins before the transaction of the one before it is committed',
  },
  {
    keys: ['ackMode'],
    because: 'listenerType',
    isIneffective: ({ listenerType }) => listenerType === 'BATCH',
    why: 'a BATCH listener commits each slice as soon as it is done, in every ackMode: leave it out, or set commit.strict to wait for each commit',
    includesDefault: true,
  },
];

/** Reasons for which no record ever exceeds the retry budget, or for which its destination is the same. */
function onBudgetExceededRules(): readonly IneffectiveRule[] {
  const rule = (
    because: string,
    why: string,
    isIneffective: IneffectiveRule['isIneffective'],
  ): IneffectiveRule => ({ keys: ['retry.onBudgetExceeded'], because, isIneffective, why });
  return [
    rule(
      'orderingMode',
      "orderingMode is 'STRICT', which has no retry topics",
      ({ orderingMode }) => orderingMode === 'STRICT',
    ),
    rule(
      'retry.tiers',
      'retry.tiers is empty: there is no next tier',
      ({ orderingMode, retry }) => orderingMode !== 'STRICT' && retry.tiers.length === 0,
    ),
    rule(
      'listenerType',
      'a BATCH listener waits between two deliveries, which the retry budget does not limit',
      ({ listenerType }) => listenerType === 'BATCH',
    ),
    rule(
      'retry.mode',
      "retry.mode is 'seek', whose waits the retry budget does not limit",
      ({ listenerType, retry }) => listenerType !== 'BATCH' && retry.mode === 'seek',
    ),
    rule(
      'retry.tier0.maxAttempts',
      'retry.tier0.maxAttempts is 1: a single call is followed by no wait',
      ({ retry }) => retry.tier0.maxAttempts === 1,
    ),
    rule(
      'classifier',
      'classifier decides where such a record goes',
      ({ classifier }) => classifier !== undefined,
    ),
  ];
}

/**
 * Returns true if nothing makes more calls of a record than those configured. A circuit breaker and a
 * partition that waits for a decision deliver it again, and a classifier may send it to a tier twice.
 */
const isLimitedToItsCalls = (binding: ResolvedBinding): boolean =>
  !binding.circuitBreaker.enabled &&
  binding.classifier === undefined &&
  !(binding.orderingMode === 'STRICT' && binding.strictExhaustion === 'PAUSE_PARTITION');

function deadLettersAtOnce({ listenerType, batchFailureStrategy }: ResolvedBinding): boolean {
  return listenerType === 'BATCH' && batchFailureStrategy === 'DLQ_AND_CONTINUE';
}

/** Returns the most calls that a record gets in the main topic and all retry topics. */
function mostCalls(binding: ResolvedBinding): number {
  if (deadLettersAtOnce(binding)) return 1;
  const { retry, listenerType, batchRedeliveries } = binding;
  const deliveries = retry.tiers.reduce((sum, { maxAttempts }) => sum + maxAttempts, 1);
  const redeliveries = listenerType === 'BATCH' ? batchRedeliveries : 0;
  return (retry.tier0.maxAttempts + redeliveries) * deliveries;
}

const callsText = (calls: number): string => `${calls} ${calls === 1 ? 'call' : 'calls'}`;
