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
export { DltProperties, DltReplayProperties } from './config/dlt-properties.js';
export { isDuration, parseDuration, type Duration } from './config/duration.js';
export type { ErrorClass, ErrorMatcher } from './config/error-matcher.js';
export {
  BindingDefaults,
  ClusterProperties,
  EventBusProperties,
  ShutdownProperties,
  StartupProperties,
} from './config/event-bus-properties.js';
export type { LoadedOptions, UnusedKey } from './config/loaded-options.js';
export type { PresetName } from './config/preset-name.js';
export type { ResolvedBinding, ResolvedTier } from './config/resolved-binding.js';
export { RetryBudgetCalculator } from './config/retry-budget-calculator.js';
export {
  RetryProperties,
  RetryTierProperties,
  SkipToTierProperties,
  Tier0Properties,
} from './config/retry-properties.js';
export { RebalanceProperties, TopicBindingProperties } from './config/topic-binding-properties.js';

export { EventHandler } from './discovery/event-handler.js';
export { DltAlert, DltHandler } from './discovery/dlt-decorators.js';
export { HandlesEvents } from './discovery/handles-events.js';
export type { BindingName, EventBusBindings, PayloadOf } from './discovery/event-bus-bindings.js';
export type { EventHandlerOptions } from './discovery/handler-options.js';
export { Ctx, FullRecord, Header, Headers, Key, Payload } from './discovery/parameters.js';
export type { EventBusRequest } from './discovery/host-request.js';
export type { PayloadType, StandardSchema } from './discovery/payload-type.js';
export { EXCEPTION_CLASSIFIER } from './discovery/tokens.js';

export type {
  BindingSnapshot,
  ContainerRegistration,
  LastCommand,
} from './container/container-registration.js';
export { ContainerRegistry, type RegistryChange } from './container/container-registry.js';
export { EventBusConnector } from './container/event-bus-connector.js';
export type {
  BindingHealth,
  BusStatus,
  EventBusHealth,
  HealthStatus,
} from './container/event-bus-health.js';
export { LifecycleManager, type CommandNote } from './container/lifecycle-manager.js';
export {
  ShutdownCoordinator,
  type BindingShutdown,
  type ShutdownReport,
} from './container/shutdown-coordinator.js';

export {
  EventPublisher,
  type PublishedEvent,
  type PublishOptions,
} from './publisher/event-publisher.js';

export {
  ConfigurationValidationException,
  type ConfigurationViolation,
} from './errors/configuration-validation-exception.js';
export {
  AmbiguousBindingException,
  BindingAlreadyExistsException,
  BindingNotFoundException,
  ContainerUnresponsiveException,
  EventBusShuttingDownException,
  InvalidContainerStateException,
  type ContainerOperation,
} from './errors/container-errors.js';
export { CircuitBreakerOpenException } from './errors/circuit-errors.js';
export { EventBusException } from './errors/event-bus-exception.js';
export {
  EventBusDisabledException,
  EventBusNotReadyException,
} from './errors/event-bus-state-errors.js';
export {
  BatchProcessingException,
  DeserializationException,
  HandlerDiscoveryException,
  HandlerRefusedException,
  PayloadValidationException,
  UnknownEventTypeException,
} from './errors/handler-errors.js';
export { DltPublishException, EventPublishException } from './errors/publish-errors.js';

export { AckMode } from './model/ack-mode.js';
export { BatchFailureStrategy } from './model/batch-failure-strategy.js';
export type { BindingRef } from './model/binding-ref.js';
export type {
  CircuitBreaker,
  CircuitChangeCause,
  CircuitFigures,
  CircuitState,
  CircuitTransition,
} from './model/circuit-breaker.js';
export { CONTAINER_STATE_CODES, ContainerState } from './model/container-state.js';
export type { DltReason, DltRecord } from './model/dlt-record.js';
export { DltStrategy } from './model/dlt-strategy.js';
export type { DeliveryAttempt, EventContext } from './model/event-context.js';
export type { EventHeaders, EventRecord } from './model/event-record.js';
export { ExceptionRoutingDecision } from './model/exception-routing-decision.js';
export { ExceptionRouting } from './model/exception-routing.js';
export type {
  DltAlertHandler,
  DltRecordHandler,
  EventTypeHandler,
  ExceptionClassifier,
  MessageHandler,
  MessageMetadata,
} from './model/handler-interfaces.js';
export { ListenerType } from './model/listener-type.js';
export { OrderingMode } from './model/ordering-mode.js';
export type { BatchRecordHandler, RecordHandler, SliceHandler } from './model/record-handler.js';
export type { TierFailureRecord } from './model/tier-failure-record.js';
