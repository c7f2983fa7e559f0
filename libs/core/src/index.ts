export { EventBusModule } from './nest/event-bus.module.js';
export { EventBusExceptionFilter } from './nest/event-bus-exception.filter.js';
export type {
  EventBusFeatureAsyncOptions,
  EventBusFeatureBindings,
  EventBusFeatureOptions,
  EventBusFeatureParts,
  EventBusModuleAsyncOptions,
  EventBusModuleOptions,
  EventBusOptionsFactory,
  Visibility,
} from './nest/module-options.js';
export type { FeatureConsumer } from './nest/feature-consumer.js';

export {
  EventBusAdmin,
  type BindingList,
  type BindingView,
  type CommandOutcome,
  type ScopedCommandOptions,
} from './admin/event-bus-admin.js';
export type {
  BindingConfiguration,
  OptionOrigin,
  ShownOption,
} from './admin/binding-configuration.js';
export type { RuntimeValue } from './config/runtime-keys.js';
export type { FleetAnswer, FleetState, InstanceAnswer } from './fleet/fleet-answer.js';
export type {
  AnswerResult,
  FleetAction,
  FleetBinding,
  InstanceBinding,
  InstanceEntry,
  OrderEntry,
} from './fleet/fleet-entry.js';
export type { FleetCommandOptions } from './fleet/fleet.js';
export type { FleetNote, FleetOrigin } from './fleet/own-commands.js';
export type { AdminOperation, OperationPace, OperationRequest } from './admin/admin-operations.js';
export {
  CrossSiteRequestException,
  DeadLetterNotFoundException,
  InvalidAdminRequestException,
  RightNotAllowedException,
} from './errors/admin-errors.js';
export { EventBusAdminModule } from './admin/http/event-bus-admin.module.js';
export { EventBusAdminController } from './admin/http/event-bus-admin.controller.js';
export { adminRightOf } from './admin/http/route-controller.js';
export type {
  AdminAccess,
  AdminExtension,
  EventBusAdminModuleOptions,
} from './admin/http/admin-options.js';
export {
  defineRoutes,
  type AdminAnswerKind,
  type AdminErrorStatus,
  type AdminInput,
  type AdminMethod,
  type AdminOutput,
  type AdminRight,
  type AdminRoute,
  type AdminRoutes,
} from './admin/api/admin-route.js';
export { adminSchema } from './admin/api/admin-schema.js';
export type { AdminCaller, AdminReply, AdminRouteHandlers } from './admin/api/admin-reply.js';
export type { JsonSchema, Schema, ValueOf } from './admin/api/schema.js';
export type { AdminCommandName } from './model/events/admin-command.js';

export { CircuitBreakerProperties } from './config/properties/circuit-breaker-properties.js';
export {
  ConfigurationValidator,
  type BindingOrigin,
} from './config/validation/configuration-validator.js';
export { EVENTBUS_DEFAULTS } from './config/defaults.js';
export {
  DltProperties,
  DltReplayProperties,
  type HeaderProfileName,
} from './config/properties/dlt-properties.js';
export { isDuration, parseDuration, type Duration } from './config/reading/duration.js';
export type { ErrorClass, ErrorMatcher } from './config/error-matching/error-matcher.js';
export {
  BindingDefaults,
  ClusterProducerProperties,
  ClusterProperties,
  EventBusProperties,
  IntakeProperties,
  FleetProperties,
  LagProperties,
  LogContextProperties,
  MetricsProperties,
  ShutdownProperties,
  StartupProperties,
} from './config/properties/event-bus-properties.js';
export {
  FormatProperties,
  RegistryCredentialsProperties,
  SchemaRegistryProperties,
  SchemaVersionProperties,
  TypedJsonProperties,
  type FormatName,
  type KeyFormatName,
  type TypeClass,
} from './config/properties/format-properties.js';
export {
  IdempotencyProperties,
  type HeaderKey,
  type IdempotencyKey,
  type ResolvedIdempotencyKey,
  type KeyFunction,
} from './config/properties/idempotency-properties.js';
export { FailureLogProperties } from './config/properties/failure-log-properties.js';
export { ExceptionRouteProperties } from './config/properties/exception-route-properties.js';
export type { LoadedOptions, UnusedKey } from './config/reading/loaded-options.js';
export type { PresetName } from './config/reading/preset-name.js';
export type {
  Resolved,
  ResolvedBinding,
  ResolvedDlt,
  ResolvedExceptionRoute,
  ResolvedIdempotency,
  ResolvedRetry,
  ResolvedTier,
  ResolvedTier0,
  ResolvedTopics,
  ResolvedTopicShape,
} from './config/resolving/resolved-binding.js';
export type {
  ResolvedFormats,
  ResolvedSchemaRegistry,
} from './config/resolving/resolve-formats.js';
export {
  RetryBudgetCalculator,
  type RetryBudget,
  type RetryBudgetInput,
} from './config/resolving/retry-budget-calculator.js';
export {
  RetryProperties,
  RetryTierProperties,
  SkipToTierProperties,
  Tier0Properties,
} from './config/properties/retry-properties.js';
export {
  CommitProperties,
  ProcessingProperties,
  TransactionProperties,
} from './config/properties/processing-properties.js';
export {
  RebalanceProperties,
  TopicBindingProperties,
} from './config/properties/topic-binding-properties.js';
export { TopicShapeProperties, TopicsProperties } from './config/properties/topics-properties.js';

export {
  EventHandler,
  type BatchHandlerDecorator,
  type BatchHandlerFactory,
  type EventHandlerFactory,
  type HandlerDecorator,
} from './discovery/decorators/event-handler.js';
export { DltAlert, DltHandler, type DeadLettersOf } from './discovery/decorators/dlt-decorators.js';
export {
  OnEventBus,
  type EventListenerDecorator,
  type EventListenerOptions,
} from './discovery/decorators/on-event-bus.js';
export { HandlesEvents, type HandlesEventsOptions } from './discovery/decorators/handles-events.js';
export type {
  AnyBindingName,
  AnyNameIn,
  BindingName,
  ByBinding,
  CheckedBindingRef,
  DeclaredPayload,
  EventBusBindings,
  EventOf,
  NameCheck,
  NameIn,
  PayloadIn,
  PayloadOf,
} from './model/states/event-bus-bindings.js';
export type { EventHandlerOptions } from './discovery/decorators/handler-options.js';
export {
  Ctx,
  FullRecord,
  Header,
  Headers,
  Key,
  Payload,
  type ParameterPipe,
} from './discovery/decorators/parameters.js';
export type { EventBusRequest } from './discovery/calling/host-request.js';
export type {
  PayloadType,
  StandardResult,
  StandardSchema,
} from './discovery/decorators/payload-type.js';
export {
  EXCEPTION_CLASSIFIER,
  KAFKA_ERROR_HANDLER_OPTIONS,
  LAG_ALERT_HANDLER,
  TOPIC_NAMING_STRATEGY,
} from './discovery/decorators/tokens.js';

export type {
  BindingPause,
  BindingSnapshot,
  CircuitBreakerSlot,
  ContainerRegistration,
  LastCommand,
} from './containers/container-registration.js';
export {
  ContainerFactory,
  type ContainerParts,
  type TierParts,
} from './containers/container-factory.js';
export {
  ContainerRegistry,
  type PublishedBinding,
  type RegistryChange,
  type StateUpdate,
} from './containers/container-registry.js';
export type { ContainerDetails, ContainerStatus } from './containers/health/container-status.js';
export {
  EventBusConnector,
  type DeclaredRegistration,
  type RecordToDecide,
} from './containers/lifecycle/event-bus-connector.js';
export type {
  BindingHealth,
  BusStatus,
  EventBusHealth,
  HealthStatus,
} from './containers/health/event-bus-health.js';
export { LifecycleManager, type CommandNote } from './containers/lifecycle/lifecycle-manager.js';
export type { ContainerDrain } from './containers/container-run.js';
export type { MessageContainer } from './containers/message-container.js';
export {
  ShutdownCoordinator,
  type BindingShutdown,
  type ShutdownReport,
} from './containers/shutdown/shutdown-coordinator.js';
export type {
  DrainReport,
  PartitionPause,
  RecordCounts,
} from './consuming/session/consuming-session.js';
export type { PauseReason } from './consuming/pauses/pause-reason.js';

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
export type { BloomFilterOptions } from './pipeline/idempotency/bloom-filter.js';
export {
  withBloomFilter,
  type ListedIdempotencyStore,
  type WithBloomFilterOptions,
} from './pipeline/idempotency/with-bloom-filter.js';

export { EventBusLogger } from './logging/event-bus-logger.js';
export {
  logContext,
  MdcContextPropagator,
  type BusLine,
  type LogContextReader,
} from './logging/mdc-context-propagator.js';
export type { LogFields, RecordLogContext, RecordLogFields } from './logging/record-log-context.js';
export type { RecordLog } from './model/records/record-log.js';
export { EventBusMetrics } from './observability/event-bus-metrics.js';
export {
  ALERT_LEVEL_CODES,
  LAG_THRESHOLDS,
  type AlertClass,
  type AlertLevel,
  type AlertState,
} from './model/states/lag-alert.js';
export type { LagAlertHandler } from './model/extension-points/lag-alert-handler.js';
export { AlertProperties } from './config/properties/alert-properties.js';
export { EventBusDoctor, type Diagnosis } from './observability/doctor/event-bus-doctor.js';
export { KafkaHealth, type KafkaHealthReport } from './containers/health/kafka-health.js';
export type { Liveness } from './containers/health/liveness.js';
export { LagService } from './observability/lag/lag-service.js';
export {
  LAG_STATUS_CODES,
  type BindingLag,
  type DeadLetterDepth,
  type GroupLag,
  type LagReader,
  type LagStatus,
  type PartitionLag,
} from './model/states/lag.js';
export type { HeadRecord, LaneView } from './model/states/lane-view.js';
export {
  KafkaMetrics,
  type KafkaTopicValues,
  type MetricsTimer,
} from './observability/kafka-metrics.js';
export type {
  HistogramFamily,
  HistogramSample,
  MetricFamily,
  MetricSample,
  MetricType,
  ValueFamily,
} from './observability/metric-family.js';
export type { MeasuredValues } from './consuming/measures/container-measures.js';
export type { PartitionOutcomes } from './consuming/measures/partition-counts.js';
export type { HistogramValues } from './model/measures/histogram.js';

export { EventBusEvents } from './events/event-bus-events.js';
export type {
  AdminCommand,
  BindingChanged,
  BindingPaused,
  BindingResumed,
  CallAgain,
  CircuitChanged,
  EventBusEvent,
  EventBusEventMap,
  EventBusEventName,
  EventException,
  NextStep,
  PartitionStopped,
  PartitionsAssigned,
  PartitionsRevoked,
  BusEventBase,
  RecordDeadLettered,
  RecordDiscarded,
  RecordFailed,
  RecordRecovered,
  RecordRetried,
  SessionFailed,
  SessionRecovered,
  LagAlertRaised,
  TopicWriteFailed,
  TopicWriteRecovered,
} from './model/events/event-bus-events.js';
export type {
  RedriveApproved,
  RedriveBraked,
  RedriveCanaryDecided,
  RedriveEnded,
  RedriveEndState,
  RedriveEventMap,
  RedriveResumed,
  RedriveStarted,
} from './model/events/redrive-events.js';
export type { RecordPosition } from './model/events/record-position.js';

export {
  EventPublisher,
  type EventToPublish,
  type PublishOptions,
} from './publisher/event-publisher.js';
export { EventsPublishException, type EventResult } from './publisher/events-publish-exception.js';
export type { PublishedEvent } from './publisher/published-event.js';
export type { PublishCause } from './publisher/trace-headers.js';

export {
  DltReplayService,
  type ApprovalNote,
  type RedriveAction,
  type RedriveOperation,
} from './redrive/dlt-replay-service.js';
export { DltStatsService, type DltStatsOptions } from './redrive/stats/dlt-stats-service.js';
export type { AgeClass, DltStats } from './redrive/stats/dlt-stats.js';
export type { LettersToMark, MarkNote, MarkReport } from './redrive/marking/mark-letters.js';
export type { PurgedPartition, PurgeReport } from './redrive/purging/purge-report.js';
export type { PurgeRequest, RedriveRequest, RunOptions } from './redrive/redrive-request.js';
export type { LetterEdit } from './redrive/editing/letter-edit.js';
export type { EditReport } from './redrive/editing/edit-and-replay.js';
export type { DeadLetterFilter } from './redrive/letters/dead-letter-filter.js';
export type {
  NumberCondition,
  OffsetCondition,
  TextCondition,
} from './redrive/letters/filter-conditions.js';
export type {
  DeadLetterPage,
  LetterOutcome,
  ListedDeadLetter,
  ListOptions,
} from './redrive/letters/list-letters.js';
export type { DeadLetterPosition } from './redrive/letters/read-letters.js';
export type { ReplayDelivery } from './redrive/ledger/delivery.js';
export type { ActionEntry, LetterEntry, LetterStatus } from './redrive/ledger/ledger-entry.js';
export type {
  CauseGroup,
  PlannedPartition,
  RedrivePlan,
  RedriveTarget,
  SkipCounts,
  SkipReason,
} from './redrive/planning/redrive-plan.js';
export type { BrakeOptions, RampOptions } from './redrive/pacing/pacing-options.js';
export type { Brake, BrakeReason } from './redrive/pacing/brake.js';
export type { CanaryContinuation, CanaryOptions } from './redrive/canary/canary-options.js';
export type { CanaryReport } from './redrive/canary/canary-report.js';
export type {
  CanaryFigures,
  CanaryVerdict,
  VerdictReason,
} from './redrive/canary/canary-verdict.js';
export type { OutcomeCounts } from './redrive/outcomes/outcome-counts.js';
export type { ReplayOutcome, ReplayResult } from './model/outcomes/replay-outcomes.js';
export type { NodeBrake, RedriveReport, RedriveState } from './redrive/running/redrive-report.js';
export type { RedriveRun } from './redrive/running/redrive-run.js';

export {
  ConfigurationValidationException,
  type ConfigurationViolation,
} from './errors/configuration-validation-exception.js';
export {
  AmbiguousBindingException,
  BindingAlreadyExistsException,
  BindingNotConsumedException,
  BindingNotFoundException,
  TierNotFoundException,
  ContainerUnresponsiveException,
  EventBusShuttingDownException,
  InvalidContainerStateException,
  NoRecordWaitsException,
  UnknownClusterException,
  type ContainerOperation,
} from './errors/container-errors.js';
export {
  DeliveryAbortedException,
  HandlerOverdueException,
  type AbortCause,
} from './errors/delivery-errors.js';
export { CircuitBreakerOpenException } from './errors/circuit-errors.js';
export {
  ApplicationException,
  EventBusException,
  type ExceptionOptions,
} from './errors/event-bus-exception.js';
export {
  EventBusDisabledException,
  EventBusNotReadyException,
} from './errors/event-bus-state-errors.js';
export {
  BatchProcessingException,
  DeadLetterRequestedException,
  DeserializationException,
  HandlerDiscoveryException,
  HandlerNotFoundException,
  HandlerRefusedException,
  PayloadValidationException,
  UnknownEventTypeException,
} from './errors/handler-errors.js';
export { IdempotencyKeyException, IdempotencyStoreException } from './errors/idempotency-errors.js';
export { ConfigurationNeedsRestartException } from './errors/runtime-configuration-errors.js';
export {
  FleetNotConfiguredException,
  FleetOrderException,
  FleetUnavailableException,
} from './errors/fleet-errors.js';
export {
  InvalidDeadLetterEditException,
  InvalidDeadLetterFilterException,
  RedrivePlanNotFoundException,
  RedriveRefusedException,
  SchedulerMissingException,
} from './errors/redrive-errors.js';
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

export { faultOf } from './failures/faults/fault-of.js';
export type { Fault } from './failures/faults/fault.js';

export { AckMode } from './model/states/ack-mode.js';
export { BatchFailureStrategy } from './model/outcomes/batch-failure-strategy.js';
export type { AttemptCounts, BindingCounts, LabelledCount } from './model/states/binding-counts.js';
export type { BindingRef } from './model/states/binding-ref.js';
export {
  CIRCUIT_STATE_CODES,
  type CircuitBreaker,
  type CircuitChangeCause,
  type CircuitFigures,
  type CircuitState,
  type CircuitTransition,
} from './model/states/circuit-breaker.js';
export { CONTAINER_STATE_CODES, ContainerState } from './model/states/container-state.js';
export {
  ConsumerResult,
  ErrorResult,
  RetryableResult,
  SuccessResult,
  type FailureResultOptions,
} from './model/outcomes/consumer-result.js';
export type {
  DeserializationFailure,
  DltCause,
  DltReason,
  DltRecord,
} from './model/records/dlt-record.js';
export { DltStrategy } from './model/outcomes/dlt-strategy.js';
export type { ErrorRedaction, ExceptionDetail } from './model/extension-points/error-redaction.js';
export type { Deserializer } from './model/extension-points/deserializer.js';
export type { DeliveryAttempt, EventContext } from './model/records/event-context.js';
export type { EventHeaders, EventRecord } from './model/records/event-record.js';
export type { RecordKey } from './model/records/record-key.js';
export { ExceptionRoutingDecision } from './model/outcomes/exception-routing-decision.js';
export { ExceptionRouting } from './model/outcomes/exception-routing.js';
export type {
  DltAlertHandler,
  DltRecordHandler,
  DltVerdict,
  EventTypeHandler,
  ExceptionClassifier,
  MessageHandler,
  MessageMetadata,
} from './model/extension-points/handler-interfaces.js';
export type { Decision, RecordDecision } from './model/outcomes/decision.js';
export type { PublishProblems, TopicProblem } from './model/outcomes/publish-problems.js';
export type { ClaimAnswer, IdempotencyStore } from './model/extension-points/idempotency-store.js';
export {
  KafkaErrorHandler,
  type KafkaErrorHandlerOptions,
} from './failures/routing/kafka-error-handler.js';
export { readDeadLetter } from './failures/headers/read-dead-letter.js';
export {
  DefaultExceptionClassifier,
  type ClassifiedBinding,
} from './failures/classification/default-exception-classifier.js';
export type { Classification } from './failures/classification/default-routing.js';
export type { HalfOpenBlocker } from './model/states/half-open-blocker.js';
export type { PendingAlerts } from './model/states/pending-alerts.js';
export type { Outcome, RecordProcessor } from './model/outcomes/outcome.js';
export { ListenerType } from './model/states/listener-type.js';
export type { TopicNamingStrategy } from './model/extension-points/topic-naming-strategy.js';
export { OrderingMode } from './model/states/ordering-mode.js';
export type {
  BatchRecordHandler,
  RecordHandler,
  SliceHandler,
} from './model/extension-points/record-handler.js';
export type { RecordTransaction } from './model/records/record-transaction.js';
export type { SerializedEvent, Serializer } from './model/extension-points/serializer.js';
export type { TierFailureRecord } from './model/records/tier-history.js';
export type { DecisionPlace } from './model/outcomes/decision.js';
export type { OnTopicRecreated } from './model/states/on-topic-recreated.js';
export type { BlockingRecord } from './model/states/half-open-blocker.js';
export type { BindingEventSink, EventDetails } from './model/events/event-sink.js';
