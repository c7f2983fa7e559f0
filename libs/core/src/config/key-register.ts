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
  root('enabled', OPTIONS),
  root('brokers', OPTIONS),
  root('driver', OPTIONS),
  root('runtime', OPTIONS),
  root('loaders', OPTIONS),
  root('shutdown.drainTimeoutMs', 'module/event-bus-kernel.ts'),
  root('startup.concurrency', 'container/startup.spec.ts'),
  root('clusters.*.brokers', 'module/clusters.ts'),
  root('clusters.*.driver', 'module/clusters.ts'),
  root('clusters.*.clientId', 'module/clusters.ts'),
  root('clusters.*.ssl', 'module/clusters.ts'),
  root('clusters.*.sasl', 'module/clusters.ts'),
  root('clusters.*.rackId', PENDING),
  binding('preset', BINDING),
  binding('topic', 'container/container-factory.spec.ts'),
  binding('groupId', 'container/container-factory.spec.ts'),
  binding('cluster', 'container/container-factory.spec.ts'),
  binding('listenerType', BINDING),
  binding('ackMode', 'intake/intake-session.spec.ts'),
  binding('concurrency', 'container/container-factory.spec.ts'),
  binding('maxPollRecords', 'intake/poll-loop.spec.ts'),
  binding('maxPollIntervalMs', 'intake/supervision.spec.ts'),
  binding('sessionTimeoutMs', 'container/container-factory.spec.ts'),
  binding('heartbeatIntervalMs', 'container/container-factory.spec.ts'),
  binding('pollTimeoutMs', 'container/container-factory.spec.ts'),
  binding('idleBetweenPollsMs', 'intake/poll-loop.spec.ts'),
  binding('autoStartup', 'container/startup.spec.ts'),
  binding('staticMembership', PENDING, false),
  binding('offsetReset', 'container/container-factory.spec.ts'),
  binding('assignmentStrategy', 'container/container-factory.spec.ts'),
  binding('unknownType', 'pipeline/dispatch.spec.ts'),
  binding('typeFrom', 'pipeline/dispatch.spec.ts'),
  binding('enhancers', 'discovery/enhancers.spec.ts'),
  binding('rebalance.drainTimeoutMs', 'container/container-factory.spec.ts'),
  binding('expectedProcessingMs', 'config/rules/timing-rules.spec.ts'),
  binding('retry.mode', PENDING),
  binding('retry.tier0.maxAttempts', PENDING),
  binding('retry.tier0.initialBackoffMs', PENDING),
  binding('retry.tier0.multiplier', PENDING),
  binding('retry.tier0.maxBackoffMs', PENDING),
  binding('retry.tiers[].delayMs', PENDING),
  binding('retry.tiers[].maxAttempts', PENDING),
  binding('retry.tiers[].topicSuffix', PENDING),
  binding('retry.tiers[].concurrency', PENDING),
  binding('retry.retryableExceptions', PENDING),
  binding('retry.nonRetryableExceptions', PENDING),
  binding('retry.skipToTierMapping[].match', PENDING),
  binding('retry.skipToTierMapping[].tier', PENDING),
  binding('circuitBreaker.enabled', PENDING, false),
  binding('circuitBreaker.failureRateThreshold', PENDING),
  binding('circuitBreaker.slowCallRateThreshold', PENDING),
  binding('circuitBreaker.slowCallDurationMs', PENDING),
  binding('circuitBreaker.waitDurationInOpenStateMs', PENDING),
  binding('circuitBreaker.slidingWindowSize', PENDING),
  binding('circuitBreaker.minimumNumberOfCalls', PENDING),
  binding('circuitBreaker.permittedNumberOfCallsInHalfOpenState', PENDING),
  binding('circuitBreaker.automaticPauseOnOpen', PENDING),
  binding('dlt.topic', PENDING),
  binding('dlt.topicSuffix', PENDING),
  binding('dlt.strategy', PENDING),
  binding('dlt.replay.maxReplays', PENDING),
  binding('dlt.replay.cooldownMs', PENDING),
  binding('dlt.replay.batchSize', PENDING),
  binding('dlt.headerProfile', PENDING),
  binding('dlt.verifyTopic', PENDING, false),
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
