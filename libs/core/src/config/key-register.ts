import type { Layer } from './merge-layers.js';
import { deepFreeze, isPlainObject } from './plain-object.js';

/** Where the promises about one key are tested. Paths count from libs/core/src. */
export interface RegisteredKey {
  /** `bindings.*.retry.tiers[].delayMs`; the keys of `defaults` are those of a binding. */
  readonly key: string;
  readonly default: string;
  /**
   * The test of its effect, or the source that reads it where no test does yet.
   * `pending`: it is accepted and does nothing in this version; the module says so at start.
   */
  readonly effect: string;
  /** The value of a pending key that asks for nothing beyond what happens anyway. */
  readonly worksAs?: unknown;
}

/** A key that somebody gave and that has no effect yet. */
export interface PendingKey {
  readonly key: string;
  readonly path: string;
  readonly source: string;
}

const OPTIONS = 'config/resolve-options.spec.ts';
const BINDING = 'config/resolve-binding.spec.ts';
const BINDING_OPTIONS = 'module/binding-options.spec.ts';
const CLUSTERS = '../../../test/integration/core/clusters.spec.ts';
const PENDING = 'pending';

const root = (key: string, effect: string, defaultTest = OPTIONS): RegisteredKey => ({
  key,
  default: defaultTest,
  effect,
});
const binding = (key: string, effect: string, worksAs?: unknown): RegisteredKey => ({
  key: `bindings.*.${key}`,
  default: BINDING,
  effect,
  ...(worksAs === undefined ? {} : { worksAs }),
});

export const KEY_REGISTER: readonly RegisteredKey[] = deepFreeze([
  root('enabled', 'module/enablement.spec.ts'),
  root('brokers', OPTIONS),
  root('driver', OPTIONS),
  root('errorTypes', 'module/resilience.spec.ts', 'config/error-types.spec.ts'),
  root('runtime', OPTIONS),
  root('loaders', 'module/wrong-configuration.spec.ts'),
  root('shutdown.drainTimeoutMs', 'module/binding-options.spec.ts'),
  root('startup.concurrency', 'container/startup.spec.ts'),
  root('clusters.*.brokers', CLUSTERS),
  root('clusters.*.driver', 'module/several-clusters.spec.ts'),
  root('clusters.*.clientId', CLUSTERS),
  root('clusters.*.ssl', CLUSTERS),
  root('clusters.*.sasl', CLUSTERS),
  root('clusters.*.rackId', PENDING),
  binding('preset', BINDING),
  binding('topic', 'module/event-bus-module.spec.ts'),
  binding('groupId', 'module/event-bus-module.spec.ts'),
  binding('cluster', 'module/several-clusters.spec.ts'),
  binding('listenerType', BINDING),
  binding('ackMode', BINDING_OPTIONS),
  binding('concurrency', BINDING_OPTIONS),
  binding('maxPollRecords', BINDING_OPTIONS),
  binding('maxPollIntervalMs', BINDING_OPTIONS),
  binding('sessionTimeoutMs', BINDING_OPTIONS),
  binding('heartbeatIntervalMs', BINDING_OPTIONS),
  binding('pollTimeoutMs', BINDING_OPTIONS),
  binding('idleBetweenPollsMs', BINDING_OPTIONS),
  binding('autoStartup', 'module/registration.spec.ts'),
  binding('staticMembership', PENDING, false),
  binding('offsetReset', BINDING_OPTIONS),
  binding('assignmentStrategy', BINDING_OPTIONS),
  binding('unknownType', 'module/handlers-on-the-bus.spec.ts'),
  binding('typeFrom', 'module/handlers-on-the-bus.spec.ts'),
  binding('enhancers', 'module/enhancers-of-the-bus.spec.ts'),
  binding('rebalance.drainTimeoutMs', BINDING_OPTIONS),
  binding('expectedProcessingMs', 'config/rules/timing-rules.spec.ts'),
  binding('retry.mode', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tier0.maxAttempts', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tier0.initialBackoffMs', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tier0.multiplier', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tier0.maxBackoffMs', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tiers[].delayMs', PENDING),
  binding('retry.tiers[].maxAttempts', PENDING),
  binding('retry.tiers[].topicSuffix', PENDING),
  binding('retry.tiers[].concurrency', PENDING),
  binding('retry.retryableExceptions', 'module/resilience.spec.ts'),
  binding('retry.nonRetryableExceptions', 'module/resilience.spec.ts'),
  binding('retry.skipToTierMapping[].match', PENDING),
  binding('retry.skipToTierMapping[].tier', PENDING),
  binding('circuitBreaker.enabled', 'module/resilience.spec.ts'),
  binding(
    'circuitBreaker.failureRateThreshold',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding(
    'circuitBreaker.slowCallRateThreshold',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding('circuitBreaker.slowCallDurationMs', 'pipeline/resilience/resilience-decorator.spec.ts'),
  binding(
    'circuitBreaker.waitDurationInOpenStateMs',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding(
    'circuitBreaker.slidingWindowSize',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding(
    'circuitBreaker.minimumNumberOfCalls',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding(
    'circuitBreaker.permittedNumberOfCallsInHalfOpenState',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding('circuitBreaker.automaticPauseOnOpen', 'module/resilience.spec.ts'),
  binding('dlt.topic', PENDING),
  binding('dlt.topicSuffix', PENDING),
  binding('dlt.strategy', PENDING),
  binding('dlt.replay.maxReplays', PENDING),
  binding('dlt.replay.cooldownMs', PENDING),
  binding('dlt.replay.batchSize', PENDING),
  binding('dlt.headerProfile', PENDING),
  binding('dlt.verifyTopic', 'module/topic-checks.spec.ts'),
  binding('batchFailureStrategy', PENDING),
  binding('orderingMode', PENDING, 'RELAXED_IN_RETRY'),
  binding('strictExhaustion', PENDING),
]);

const PENDING_KEYS: ReadonlyMap<string, RegisteredKey> = new Map(
  KEY_REGISTER.filter(({ effect }) => effect === PENDING).map((entry) => [entry.key, entry]),
);

/** Of the layers of bindings, or of clusters: what they ask for that nothing does yet. Each is named once. */
export function keysWithoutEffect(
  layers: readonly Layer[],
  map: 'bindings' | 'clusters' = 'bindings',
): readonly PendingKey[] {
  const found = layers.flatMap(({ values, source, path }) =>
    leaves(values)
      .filter(({ key, value }) => isPending(`${map}.*.${key}`, value))
      .map(({ key }) => ({ key, path: `${path}.${key}`, source })),
  );
  return [...new Map(found.map((pending) => [pending.path, pending])).values()];
}

function isPending(key: string, value: unknown): boolean {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return false;
  const entry = PENDING_KEYS.get(key.replaceAll(/\[\d+\]/g, '[]'));
  return entry !== undefined && (entry.worksAs === undefined || entry.worksAs !== value);
}

/** Lists whose items have keys of their own; any other list is one value. */
const LISTS: ReadonlySet<string> = new Set(
  KEY_REGISTER.flatMap(({ key }) => /^bindings\.\*\.(.+)\[\]/.exec(key)?.[1] ?? []),
);

interface Leaf {
  readonly key: string;
  readonly value: unknown;
}

function leaves(value: unknown, key = ''): readonly Leaf[] {
  if (isPlainObject(value)) {
    return Object.entries(value).flatMap(([inner, item]) =>
      leaves(item, key === '' ? inner : `${key}.${inner}`),
    );
  }
  if (Array.isArray(value) && LISTS.has(key)) {
    return value.flatMap((item, index) => leaves(item, `${key}[${index}]`));
  }
  return [{ key, value }];
}
