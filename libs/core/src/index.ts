export { EventBusModule } from './module/event-bus.module.js';
export type {
  EventBusFeatureAsyncOptions,
  EventBusFeatureBindings,
  EventBusFeatureOptions,
  EventBusFeatureParts,
  EventBusModuleAsyncOptions,
  EventBusModuleOptions,
  EventBusOptionsFactory,
} from './module/module-options.js';
export type { FeatureConsumer } from './module/feature-consumer.js';

export { CircuitBreakerProperties } from './config/circuit-breaker-properties.js';
export { ConfigurationValidator } from './config/configuration-validator.js';
export { EVENTBUS_DEFAULTS } from './config/defaults.js';
export {
  DltProperties,
  DltReplayProperties,
  type ErrorRedaction,
  type ExceptionDetail,
  type HeaderProfileName,
} from './config/dlt-properties.js';
export { isDuration, parseDuration, type Duration } from './config/duration.js';
export type { ErrorClass, ErrorMatcher } from './config/error-matcher.js';
export {
  BindingDefaults,
  ClusterProducerProperties,
  ClusterProperties,
  EventBusProperties,
  IntakeProperties,
  MetricsProperties,
  ShutdownProperties,
  StartupProperties,
} from './config/event-bus-properties.js';
export {
  RegistryCredentialsProperties,
  SchemaRegistryProperties,
  SchemaVersionProperties,
  TypedJsonProperties,
  type FormatName,
  type TypeClass,
} from './config/format-properties.js';
export {
  IdempotencyProperties,
  type HeaderKey,
  type IdempotencyKey,
  type KeyFunction,
} from './config/idempotency-properties.js';
export { ExceptionRouteProperties } from './config/exception-route-properties.js';
export type { LoadedOptions, UnusedKey } from './config/loaded-options.js';
export type { PresetName } from './config/preset-name.js';
export type { ResolvedBinding, ResolvedTier } from './config/resolved-binding.js';
export {
  RetryBudgetCalculator,
  type RetryBudget,
  type RetryBudgetInput,
} from './config/retry-budget-calculator.js';
export {
  RetryProperties,
  RetryTierProperties,
  SkipToTierProperties,
  Tier0Properties,
} from './config/retry-properties.js';
export {
  CommitProperties,
  ProcessingProperties,
  TransactionProperties,
} from './config/processing-properties.js';
export { RebalanceProperties, TopicBindingProperties } from './config/topic-binding-properties.js';
export { TopicShapeProperties, TopicsProperties } from './config/topics-properties.js';

export { EventHandler } from './discovery/event-handler.js';
export { DltAlert, DltHandler, type DeadLettersOf } from './discovery/dlt-decorators.js';
export { HandlesEvents, type HandlesEventsOptions } from './discovery/handles-events.js';
export type { BindingName, EventBusBindings, PayloadOf } from './discovery/event-bus-bindings.js';
export type { EventHandlerOptions } from './discovery/handler-options.js';
export { Ctx, FullRecord, Header, Headers, Key, Payload } from './discovery/parameters.js';
export type { EventBusRequest } from './discovery/host-request.js';
export type { PayloadType, StandardResult, StandardSchema } from './discovery/payload-type.js';
export {
  EXCEPTION_CLASSIFIER,
  KAFKA_ERROR_HANDLER_OPTIONS,
  TOPIC_NAMING_STRATEGY,
} from './discovery/tokens.js';

export type {
  BindingPause,
  BindingSnapshot,
  CircuitBreakerSlot,
  ContainerRegistration,
  LastCommand,
} from './container/container-registration.js';
export { ContainerFactory, type ContainerParts } from './container/container-factory.js';
export { ContainerRegistry, type RegistryChange } from './container/container-registry.js';
export type { ContainerStatus } from './container/container-status.js';
export { EventBusConnector, type RecordToDecide } from './container/event-bus-connector.js';
export type {
  BindingHealth,
  BusStatus,
  EventBusHealth,
  HealthStatus,
} from './container/event-bus-health.js';
export { LifecycleManager, type CommandNote } from './container/lifecycle-manager.js';
export type { MessageContainer } from './container/message-container.js';
export {
  ShutdownCoordinator,
  type BindingShutdown,
  type ShutdownReport,
} from './container/shutdown-coordinator.js';
export type { IntakeCounts, PartitionPause } from './intake/intake.js';
export type { PauseReason } from './intake/pause-reason.js';

export {
  memoryIdempotencyStore,
  type MemoryIdempotencyStoreOptions,
} from './pipeline/idempotency/memory-idempotency-store.js';
export {
  redisIdempotencyStore,
  type RedisClient,
  type RedisIdempotencyStoreOptions,
} from './pipeline/idempotency/redis-idempotency-store.js';
export type {
  MysqlPool,
  PostgresPool,
  SqlConnection,
  SqliteDatabase,
} from './pipeline/idempotency/sql-clients.js';
export {
  SqlIdempotencyStore,
  sqlIdempotencyStore,
  type SqlIdempotencyStoreOptions,
} from './pipeline/idempotency/sql-idempotency-store.js';
export {
  withBloomFilter,
  type ListedIdempotencyStore,
  type WithBloomFilterOptions,
} from './pipeline/idempotency/with-bloom-filter.js';

export { EventBusMetrics } from './observability/event-bus-metrics.js';
export type { MetricFamily, MetricSample, MetricType } from './observability/metric-family.js';

export {
  EventPublisher,
  type PublishedEvent,
  type PublishOptions,
} from './publisher/event-publisher.js';
export type { PublishCause } from './publisher/trace-headers.js';

export {
  ConfigurationValidationException,
  type ConfigurationViolation,
} from './errors/configuration-validation-exception.js';
export {
  AmbiguousBindingException,
  BindingAlreadyExistsException,
  BindingNotFoundException,
  TierNotFoundException,
  ContainerUnresponsiveException,
  EventBusShuttingDownException,
  InvalidContainerStateException,
  NoRecordWaitsException,
  type ContainerOperation,
} from './errors/container-errors.js';
export {
  DeliveryAbortedException,
  HandlerOverdueException,
  type AbortCause,
} from './errors/delivery-errors.js';
export { CircuitBreakerOpenException } from './errors/circuit-errors.js';
export { EventBusException, type ExceptionOptions } from './errors/event-bus-exception.js';
export {
  EventBusDisabledException,
  EventBusNotReadyException,
} from './errors/event-bus-state-errors.js';
export {
  BatchProcessingException,
  DeadLetterRequestedException,
  DeserializationException,
  HandlerDiscoveryException,
  HandlerRefusedException,
  PayloadValidationException,
  UnknownEventTypeException,
} from './errors/handler-errors.js';
export { IdempotencyKeyException, IdempotencyStoreException } from './errors/idempotency-errors.js';
export { SchemaRegistryUnavailableException } from './errors/schema-registry-errors.js';
export { TransactionException } from './errors/transaction-errors.js';
export {
  DltPublishException,
  EventPublishException,
  RetryPublishException,
  type PublishFate,
} from './errors/publish-errors.js';
export {
  ErrorResultException,
  RetryableResultException,
  throwIfFailed,
} from './errors/result-errors.js';
export {
  IllegalArgumentError,
  NonRetryableException,
  RetryableException,
} from './errors/retry-errors.js';

export { faultOf } from './faults/fault-of.js';
export type { Fault } from './faults/fault.js';

export { AckMode } from './model/ack-mode.js';
export { BatchFailureStrategy } from './model/batch-failure-strategy.js';
export type { BindingCounts, LabelledCount } from './model/binding-counts.js';
export type { BindingRef } from './model/binding-ref.js';
export {
  CIRCUIT_STATE_CODES,
  type CircuitBreaker,
  type CircuitChangeCause,
  type CircuitFigures,
  type CircuitState,
  type CircuitTransition,
} from './model/circuit-breaker.js';
export { CONTAINER_STATE_CODES, ContainerState } from './model/container-state.js';
export {
  ConsumerResult,
  ErrorResult,
  RetryableResult,
  SuccessResult,
  type FailureResultOptions,
} from './model/consumer-result.js';
export type { DeserializationFailure, DltCause, DltReason, DltRecord } from './model/dlt-record.js';
export { DltStrategy } from './model/dlt-strategy.js';
export type { Deserializer } from './model/deserializer.js';
export type { DeliveryAttempt, EventContext } from './model/event-context.js';
export type { EventHeaders, EventRecord } from './model/event-record.js';
export { ExceptionRoutingDecision } from './model/exception-routing-decision.js';
export { ExceptionRouting } from './model/exception-routing.js';
export type {
  DltAlertHandler,
  DltRecordHandler,
  DltVerdict,
  EventTypeHandler,
  ExceptionClassifier,
  MessageHandler,
  MessageMetadata,
} from './model/handler-interfaces.js';
export type { Decision, RecordDecision } from './model/delivery.js';
export type { PublishTroubles, TopicTrouble } from './model/publish-trouble.js';
export type { ClaimAnswer, IdempotencyStore } from './model/idempotency-store.js';
export { KafkaErrorHandler, type KafkaErrorHandlerOptions } from './routing/kafka-error-handler.js';
export { readDeadLetter } from './routing/headers/read-dead-letter.js';
export {
  DefaultExceptionClassifier,
  type Classification,
  type ClassifiedBinding,
} from './routing/classifier/default-exception-classifier.js';
export { ListenerType } from './model/listener-type.js';
export type { TopicNamingStrategy } from './model/topic-naming-strategy.js';
export { OrderingMode } from './model/ordering-mode.js';
export type { BatchRecordHandler, RecordHandler, SliceHandler } from './model/record-handler.js';
export type { RecordTransaction } from './model/record-transaction.js';
export type { SerializedEvent, Serializer } from './model/serializer.js';
export type { TierFailureRecord } from './model/tier-failure-record.js';
