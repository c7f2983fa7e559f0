import { deepFreeze } from '../reading/plain-object.js';

/**
 * Specs that test one option: its default and its effect. Paths are relative to libs/core/src. The
 * test of the effect fails if the option is ignored: `npm run break-options` proves it.
 */
export interface RegisteredKey {
  /**
   * Path of the option: `bindings.*.retry.tiers[].delayMs`. Options of `defaults` are listed as
   * those of a binding.
   */
  readonly key: string;
  readonly default: string;
  /** Spec that tests the effect. */
  readonly effect: string;
}

const APPLICATION = '../test/configuration/application-options.spec.ts';
const BREAKER = '../test/configuration/circuit-breaker-options.spec.ts';
const RETRIES = '../test/configuration/retry-options.spec.ts';
const OPTIONS = 'config/resolving/resolve-options.spec.ts';
const BINDING = 'config/resolving/resolve-binding.spec.ts';
const CLUSTER_DEFAULTS = 'config/resolving/resolve-clusters.spec.ts';
const BINDING_OPTIONS = '../test/configuration/binding-options.spec.ts';
const CLUSTERS = '../../../test/integration/core/clusters/clusters.spec.ts';
const RETRY_TOPICS = '../test/failures/retry-sequence.spec.ts';
const ROUTING = '../test/failures/failure-routing.spec.ts';
const DEAD_LETTERS = '../test/failures/dead-letter-topic.spec.ts';
const BATCH_FAILURES = '../test/failures/batch-failures.spec.ts';
const CLASSIFIER = 'failures/classification/default-exception-classifier.spec.ts';
const IDEMPOTENCY = '../test/handlers/idempotency.spec.ts';
const PROVISIONING = '../test/topics/topic-provisioner.spec.ts';
const FAILURE_LOG = '../test/failures/failure-log.spec.ts';
const FORMATS = 'config/properties/format-properties.spec.ts';
const ALERTS = '../test/observability/lag-alerts.spec.ts';
const FLEET = '../test/fleet/fleet-options.spec.ts';
const LAG = '../test/observability/lag.spec.ts';
const LANES = '../test/handlers/lanes.spec.ts';

const root = (key: string, effect: string, defaultTest = OPTIONS): RegisteredKey => ({
  key,
  default: defaultTest,
  effect,
});
const cluster = (key: string, effect: string): RegisteredKey =>
  root(`clusters.*.${key}`, effect, CLUSTER_DEFAULTS);
const binding = (key: string, effect: string): RegisteredKey => ({
  key: `bindings.*.${key}`,
  default: BINDING,
  effect,
});

const format = (key: string, effect: string): RegisteredKey => ({
  key: `bindings.*.${key}`,
  default: FORMATS,
  effect,
});

export const KEY_REGISTER: readonly RegisteredKey[] = deepFreeze([
  root('enabled', '../test/lifecycle/enablement.spec.ts'),
  root('brokers', '../../../test/integration/core/lifecycle/application.spec.ts'),
  root('driver', APPLICATION),
  root(
    'errorTypes',
    '../test/failures/retries-in-memory.spec.ts',
    'config/error-matching/error-types.spec.ts',
  ),
  root('runtime', APPLICATION),
  root('loaders', '../test/configuration/wrong-configuration.spec.ts'),
  root('bindingsWithoutHandler', '../test/configuration/unmatched-handlers.spec.ts'),
  root('shutdown.drainTimeoutMs', '../test/configuration/binding-options.spec.ts'),
  root('startup.concurrency', APPLICATION),
  root('intake.bufferBytes', BINDING_OPTIONS),
  root('metrics.enabled', '../test/observability/metrics.spec.ts'),
  root('logContext.enabled', '../test/observability/log-context.spec.ts'),
  root('lag.enabled', LAG),
  root('lag.intervalMs', LAG),
  root('fleet.controlTopic', FLEET),
  root('fleet.cluster', FLEET),
  root('fleet.provisioning', FLEET),
  root('fleet.instance', FLEET),
  root('fleet.version', FLEET),
  root('fleet.pollIntervalMs', FLEET),
  root('fleet.reportIntervalMs', FLEET),
  cluster('brokers', CLUSTERS),
  cluster('driver', '../test/lifecycle/several-clusters.spec.ts'),
  cluster('clientId', CLUSTERS),
  cluster('ssl', CLUSTERS),
  cluster('sasl', CLUSTERS),
  cluster('rackId', '../../../test/integration/core/clusters/racks.spec.ts'),
  cluster('metadataMaxAgeMs', '../../../test/integration/core/consuming/partition-growth.spec.ts'),
  cluster('producer.compression', APPLICATION),
  cluster('producer.lingerMs', APPLICATION),
  cluster('producer.batchBytes', APPLICATION),
  cluster('producer.bufferBytes', APPLICATION),
  cluster('producer.deliveryTimeoutMs', APPLICATION),
  binding('preset', '../test/configuration/presets.spec.ts'),
  binding('topic', '../test/lifecycle/event-bus-module.spec.ts'),
  binding('groupId', APPLICATION),
  binding('cluster', '../test/lifecycle/several-clusters.spec.ts'),
  binding('listenerType', APPLICATION),
  binding('ackMode', BINDING_OPTIONS),
  binding('ack', APPLICATION),
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
  binding('staticMembership', APPLICATION),
  binding('groupInstanceId', APPLICATION),
  binding('groupProtocol', BINDING_OPTIONS),
  binding('offsetReset', BINDING_OPTIONS),
  binding('onTopicRecreated', '../test/lifecycle/recreated-topic.spec.ts'),
  binding('assignmentStrategy', BINDING_OPTIONS),
  binding('unknownType', '../test/handlers/handler-methods.spec.ts'),
  binding('typeFrom', '../test/handlers/handler-methods.spec.ts'),
  format('deserializer', '../test/formats/payload-formats.spec.ts'),
  format('keyDeserializer', '../test/formats/record-keys.spec.ts'),
  format('serializer', '../test/formats/payload-formats.spec.ts'),
  format('typedJson.types', '../test/formats/payload-formats.spec.ts'),
  format('typedJson.trustedPackages', 'config/validation/rules/format-rules.spec.ts'),
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
  binding('retry.mode', RETRIES),
  binding('retry.tier0.maxAttempts', RETRIES),
  binding('retry.tier0.initialBackoffMs', RETRIES),
  binding('retry.tier0.multiplier', RETRIES),
  binding('retry.tier0.maxBackoffMs', RETRIES),
  binding('retry.tier0.maxElapsedMs', '../test/failures/elapsed-limit.spec.ts'),
  binding('retry.tier0.jitter', RETRIES),
  binding('retry.tiers[].delayMs', RETRY_TOPICS),
  binding('retry.tiers[].multiplier', RETRIES),
  binding('retry.tiers[].maxDelayMs', RETRIES),
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
  binding('circuitBreaker.failureRateThreshold', BREAKER),
  binding('circuitBreaker.slowCallRateThreshold', BREAKER),
  binding('circuitBreaker.slowCallDurationMs', BREAKER),
  binding('circuitBreaker.waitDurationInOpenStateMs', BREAKER),
  binding('circuitBreaker.slidingWindowSize', BREAKER),
  binding('circuitBreaker.minimumNumberOfCalls', BREAKER),
  binding('circuitBreaker.permittedNumberOfCallsInHalfOpenState', BREAKER),
  binding('circuitBreaker.automaticPauseOnOpen', '../test/failures/circuit-breaker.spec.ts'),
  binding('failureLog.level', FAILURE_LOG),
  binding('failureLog.perGroupPerMinute', FAILURE_LOG),
  binding('alerts.class', ALERTS),
  binding('alerts.lagWarning', ALERTS),
  binding('alerts.lagCritical', ALERTS),
  binding('alerts.ageWarningMs', ALERTS),
  binding('alerts.ageCriticalMs', ALERTS),
  binding('alerts.dltWarning', ALERTS),
  binding('alerts.dltCritical', ALERTS),
  binding('alerts.dltAgeWarningMs', ALERTS),
  binding('alerts.dltAgeCriticalMs', ALERTS),
  binding('dlt.topic', DEAD_LETTERS),
  binding('dlt.topicSuffix', DEAD_LETTERS),
  binding('dlt.strategy', DEAD_LETTERS),
  binding('dlt.replay.maxReplays', '../test/redrive/redrive.spec.ts'),
  binding('dlt.replay.cooldownMs', '../test/redrive/due-letters.spec.ts'),
  binding('dlt.replay.batchSize', '../test/redrive/due-letters.spec.ts'),
  binding('dlt.replay.intervalMs', '../test/redrive/schedule.spec.ts'),
  binding('dlt.headerProfile', DEAD_LETTERS),
  binding('dlt.exceptionDetail', '../test/failures/exception-detail.spec.ts'),
  binding('dlt.redact', '../test/failures/exception-detail.spec.ts'),
  binding('dlt.publishTimeoutMs', '../test/configuration/dead-letter-options.spec.ts'),
  binding('dlt.handlerTimeoutMs', '../test/configuration/dead-letter-options.spec.ts'),
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
