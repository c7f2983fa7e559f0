import { DltStrategy } from '../../model/outcomes/dlt-strategy.js';
import type { Layer } from '../reading/merge-layers.js';
import { deepFreeze, isPlainObject } from '../reading/plain-object.js';

/** Tests of one option: of its default and of its effect. Paths are relative to libs/core/src. */
export interface RegisteredKey {
  /**
   * Path of the option: `bindings.*.retry.tiers[].delayMs`. Options of `defaults` are listed as
   * those of a binding.
   */
  readonly key: string;
  readonly default: string;
  /**
   * The test of the effect, or the source that reads the option if there is no test yet.
   * `pending` means that it is accepted without effect in this version, which the module logs at startup.
   */
  readonly effect: string;
  /** A value that has no effect in this version. */
  readonly pendingAs?: unknown;
}

/** An option that was set and has no effect yet. */
export interface PendingKey {
  readonly key: string;
  readonly path: string;
  readonly source: string;
}

const OPTIONS = 'config/resolving/resolve-options.spec.ts';
const BINDING = 'config/resolving/resolve-binding.spec.ts';
const CLUSTER_DEFAULTS = 'config/resolving/resolve-clusters.spec.ts';
const BINDING_OPTIONS = '../test/configuration/binding-options.spec.ts';
const CLUSTERS = '../../../test/integration/core/clusters/clusters.spec.ts';
const PRODUCERS = 'assembly/clusters.spec.ts';
const RETRY_TOPICS = '../test/failures/retry-sequence.spec.ts';
const ROUTING = '../test/failures/failure-routing.spec.ts';
const DEAD_LETTERS = '../test/failures/dead-letter-topic.spec.ts';
const BATCH_FAILURES = '../test/failures/batch-failures.spec.ts';
const CIRCUIT = '../test/failures/circuit-breaker.spec.ts';
const CLASSIFIER = 'failures/classification/default-exception-classifier.spec.ts';
const IDEMPOTENCY = '../test/handlers/idempotency.spec.ts';
const PROVISIONING = '../test/topics/topic-provisioner.spec.ts';
const FORMATS = 'config/properties/format-properties.spec.ts';
const LANES = '../test/handlers/lanes.spec.ts';
const STATIC = 'containers/lifecycle/static-members.spec.ts';
const PENDING = 'pending';

const root = (key: string, effect: string, defaultTest = OPTIONS): RegisteredKey => ({
  key,
  default: defaultTest,
  effect,
});
const cluster = (key: string, effect: string): RegisteredKey =>
  root(`clusters.*.${key}`, effect, CLUSTER_DEFAULTS);
const binding = (key: string, effect: string, pendingAs?: unknown): RegisteredKey => ({
  key: `bindings.*.${key}`,
  default: BINDING,
  effect,
  ...(pendingAs === undefined ? {} : { pendingAs }),
});

const format = (key: string, effect: string): RegisteredKey => ({
  key: `bindings.*.${key}`,
  default: FORMATS,
  effect,
});

export const KEY_REGISTER: readonly RegisteredKey[] = deepFreeze([
  root('enabled', '../test/lifecycle/enablement.spec.ts'),
  root('brokers', CLUSTERS),
  root('driver', '../test/lifecycle/several-clusters.spec.ts'),
  root(
    'errorTypes',
    '../test/failures/retries-in-memory.spec.ts',
    'config/error-matching/error-types.spec.ts',
  ),
  root('runtime', BINDING_OPTIONS),
  root('loaders', '../test/configuration/wrong-configuration.spec.ts'),
  root('bindingsWithoutHandler', '../test/configuration/unmatched-handlers.spec.ts'),
  root('shutdown.drainTimeoutMs', '../test/configuration/binding-options.spec.ts'),
  root('startup.concurrency', 'containers/lifecycle/start-bindings.spec.ts'),
  root('intake.bufferBytes', BINDING_OPTIONS),
  root('metrics.enabled', '../test/observability/metrics.spec.ts'),
  cluster('brokers', CLUSTERS),
  cluster('driver', '../test/lifecycle/several-clusters.spec.ts'),
  cluster('clientId', CLUSTERS),
  cluster('ssl', CLUSTERS),
  cluster('sasl', CLUSTERS),
  cluster('rackId', '../../../test/integration/core/clusters/racks.spec.ts'),
  cluster('metadataMaxAgeMs', '../../../test/integration/core/consuming/partition-growth.spec.ts'),
  cluster('producer.compression', PRODUCERS),
  cluster('producer.lingerMs', PRODUCERS),
  cluster('producer.batchBytes', PRODUCERS),
  cluster('producer.bufferBytes', PRODUCERS),
  cluster('producer.deliveryTimeoutMs', PRODUCERS),
  binding('preset', BINDING),
  binding('topic', '../test/lifecycle/event-bus-module.spec.ts'),
  binding('groupId', '../test/lifecycle/event-bus-module.spec.ts'),
  binding('cluster', '../test/lifecycle/several-clusters.spec.ts'),
  binding('listenerType', 'consuming/commits/commit-modes.spec.ts'),
  binding('ackMode', BINDING_OPTIONS),
  binding('ack', 'pipeline/context/received.spec.ts'),
  binding('concurrency', BINDING_OPTIONS),
  binding('maxPollRecords', BINDING_OPTIONS),
  binding('maxPollIntervalMs', BINDING_OPTIONS),
  binding('stuckHandlerMs', LANES),
  binding('processing.by', LANES),
  binding('processing.maxConcurrency', LANES),
  binding('commit.strict', LANES),
  binding('sessionTimeoutMs', BINDING_OPTIONS),
  binding('heartbeatIntervalMs', BINDING_OPTIONS),
  binding('pollTimeoutMs', BINDING_OPTIONS),
  binding('idleBetweenPollsMs', BINDING_OPTIONS),
  binding('autoStartup', '../test/lifecycle/registration.spec.ts'),
  binding('staticMembership', STATIC),
  binding('groupInstanceId', STATIC),
  binding('groupProtocol', BINDING_OPTIONS),
  binding('offsetReset', BINDING_OPTIONS),
  binding('assignmentStrategy', BINDING_OPTIONS),
  binding('unknownType', '../test/handlers/handler-methods.spec.ts'),
  binding('typeFrom', '../test/handlers/handler-methods.spec.ts'),
  format('deserializer', '../test/formats/payload-formats.spec.ts'),
  format('serializer', '../test/formats/payload-formats.spec.ts'),
  format('typedJson.types', '../test/formats/payload-formats.spec.ts'),
  format('typedJson.trustedPackages', '../test/formats/payload-formats.spec.ts'),
  format('schemaRegistry.url', 'pipeline/decoding/schema-registry-client.spec.ts'),
  format('schemaRegistry.auth.username', 'pipeline/decoding/schema-registry-client.spec.ts'),
  format('schemaRegistry.auth.password', 'pipeline/decoding/schema-registry-client.spec.ts'),
  format('schemaRegistry.headers', 'pipeline/decoding/schema-registry-client.spec.ts'),
  format('schemaRegistry.timeoutMs', 'pipeline/decoding/schema-registry-client.spec.ts'),
  format('schemaRegistry.cacheSize', 'pipeline/decoding/avro-schemas.spec.ts'),
  format('schemaVersion.from', '../test/formats/payload-formats.spec.ts'),
  format('schemaVersion.supported', '../test/formats/payload-formats.spec.ts'),
  binding('enhancers', '../test/handlers/enhancers.spec.ts'),
  binding('rebalance.drainTimeoutMs', BINDING_OPTIONS),
  binding('idempotency.store', IDEMPOTENCY),
  binding('idempotency.key', IDEMPOTENCY),
  binding('idempotency.ttlMs', IDEMPOTENCY),
  binding('idempotency.leaseMs', IDEMPOTENCY),
  binding('idempotency.timeoutMs', IDEMPOTENCY),
  binding('idempotency.onStoreFailure', IDEMPOTENCY),
  binding('transactions.enabled', '../test/transactions/transactional-outputs.spec.ts'),
  binding('transactions.idPrefix', '../test/transactions/transactional-producers.spec.ts'),
  binding('expectedProcessingMs', 'config/validation/rules/timing-rules.spec.ts'),
  binding('retry.mode', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tier0.maxAttempts', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tier0.initialBackoffMs', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tier0.multiplier', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tier0.maxBackoffMs', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tier0.jitter', 'pipeline/resilience/retry-decision.spec.ts'),
  binding('retry.tiers[].delayMs', RETRY_TOPICS),
  binding('retry.tiers[].multiplier', 'failures/retry-topics/retry-topic-filter.spec.ts'),
  binding('retry.tiers[].maxDelayMs', 'failures/retry-topics/retry-topic-filter.spec.ts'),
  binding('retry.tiers[].maxAttempts', RETRY_TOPICS),
  binding('retry.tiers[].topicSuffix', RETRY_TOPICS),
  binding('retry.tiers[].concurrency', RETRY_TOPICS),
  binding('retry.onBudgetExceeded', ROUTING),
  binding('retry.poisonAfter', ROUTING),
  binding('retry.retryableExceptions', '../test/failures/retries-in-memory.spec.ts'),
  binding('retry.nonRetryableExceptions', '../test/failures/retries-in-memory.spec.ts'),
  binding('retry.skipToTierMapping[].match', ROUTING),
  binding('retry.skipToTierMapping[].tier', ROUTING),
  binding('circuitBreaker.enabled', '../test/failures/circuit-breaker.spec.ts'),
  binding(
    'circuitBreaker.failureRateThreshold',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding(
    'circuitBreaker.slowCallRateThreshold',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding('circuitBreaker.slowCallDurationMs', CIRCUIT),
  binding(
    'circuitBreaker.waitDurationInOpenStateMs',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding('circuitBreaker.slidingWindowSize', CIRCUIT),
  binding(
    'circuitBreaker.minimumNumberOfCalls',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding(
    'circuitBreaker.permittedNumberOfCallsInHalfOpenState',
    'pipeline/resilience/sliding-circuit-breaker.spec.ts',
  ),
  binding('circuitBreaker.automaticPauseOnOpen', '../test/failures/circuit-breaker.spec.ts'),
  binding('dlt.topic', DEAD_LETTERS),
  binding('dlt.topicSuffix', DEAD_LETTERS),
  binding('dlt.strategy', DEAD_LETTERS, DltStrategy.SCHEDULED_REPLAY),
  binding('dlt.replay.maxReplays', PENDING),
  binding('dlt.replay.cooldownMs', PENDING),
  binding('dlt.replay.batchSize', PENDING),
  binding('dlt.headerProfile', DEAD_LETTERS),
  binding('dlt.exceptionDetail', 'failures/report/describe-error.spec.ts'),
  binding('dlt.redact', 'failures/report/describe-error.spec.ts'),
  binding('dlt.publishTimeoutMs', 'failures/publishing/dlt-publisher.spec.ts'),
  binding('dlt.handlerTimeoutMs', 'failures/publishing/dead-letters.spec.ts'),
  binding('dlt.verifyTopic', '../test/topics/topic-checks.spec.ts'),
  binding('exceptionRouting[].match', CLASSIFIER),
  binding('exceptionRouting[].routing', CLASSIFIER),
  binding('exceptionRouting[].tier', CLASSIFIER),
  binding('classifier', 'failures/classification/binding-classifier.spec.ts'),
  binding('naming', 'config/resolving/topic-naming.spec.ts'),
  binding('provisioning', PROVISIONING),
  binding('topics.partitions', PROVISIONING),
  binding('topics.retentionDays', PROVISIONING),
  binding('topics.replicationFactor', PROVISIONING),
  binding('topics.retry.partitions', PROVISIONING),
  binding('topics.retry.retentionDays', PROVISIONING),
  binding('topics.dlt.partitions', PROVISIONING),
  binding('topics.dlt.retentionDays', PROVISIONING),
  binding('batchFailureStrategy', BATCH_FAILURES),
  binding('batchRedeliveries', BATCH_FAILURES),
  binding('orderingMode', ROUTING),
  binding('strictExhaustion', ROUTING),
]);

const PENDING_KEYS: ReadonlyMap<string, RegisteredKey> = new Map(
  KEY_REGISTER.filter(({ effect, pendingAs }) => effect === PENDING || pendingAs !== undefined).map(
    (entry) => [entry.key, entry],
  ),
);

/** Returns the options in the layers of bindings that have no effect yet, each path once. */
export function keysWithoutEffect(layers: readonly Layer[]): readonly PendingKey[] {
  const pendingKeys = layers.flatMap(({ values, source, path }) =>
    leaves(values)
      .filter(({ key, value }) => isPending(`bindings.*.${key}`, value))
      .map(({ key }) => ({ key, path: `${path}.${key}`, source })),
  );
  return [...new Map(pendingKeys.map((pending) => [pending.path, pending])).values()];
}

function isPending(key: string, value: unknown): boolean {
  if (value === undefined || (Array.isArray(value) && value.length === 0)) return false;
  const entry = PENDING_KEYS.get(key.replaceAll(/\[\d+\]/g, '[]'));
  return entry !== undefined && (entry.effect === PENDING || entry.pendingAs === value);
}

/** Lists whose items have keys. Any other list is one value. */
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
