export {
  LeasedOutboxBuilder,
  type LeasedOutboxOptions,
  MultiNodeOutboxBuilder,
  OrderedOutboxBuilder,
  Outbox,
  type OutboxParts,
  OutboxWriter,
  type OutboxWriterOptions,
  SingleNodeOutboxBuilder,
  WriterOnlyOutboxBuilder,
} from './api/index.js';
export { type DeadEventFilter, DeadEventManager } from './dead/index.js';
export {
  DefaultInFlightTracker,
  DispatcherWriterHook,
  EventInterceptor,
  type EventSource,
  ExponentialBackoffRetryPolicy,
  type InFlightTracker,
  OutboxDispatcher,
  OutboxDispatcherBuilder,
  type OutboxDispatcherOptions,
  type QueuedEvent,
  type RetryPolicy,
} from './dispatch/index.js';
export {
  IllegalArgumentError,
  IllegalStateError,
  OutboxError,
  RequiredFieldError,
  TransactionRequiredError,
  UnroutableEventException,
  UnsupportedStoreOperationError,
} from './errors/index.js';
export {
  type BatchEventListener,
  type BatchResult,
  DefaultFaultClassifier,
  type FaultClassifier,
  type FaultKind,
  LeasedRelay,
  type LeasedRelayOptions,
  RelayWriterHook,
} from './leased/index.js';
export {
  AggregateType,
  type ClaimedEvent,
  EventEnvelope,
  EventEnvelopeBuilder,
  type EventEnvelopeInput,
  EventStatus,
  type EventType,
  type HeadersInput,
  MAX_PAYLOAD_BYTES,
  type OutboxEvent,
  type PayloadInput,
  StringAggregateType,
  StringEventType,
  defineAggregateTypes,
  defineEventTypes,
  orderKeyOf,
} from './model/index.js';
export {
  type ClaimLocking,
  DispatcherPollerHandler,
  OutboxPoller,
  OutboxPollerBuilder,
  type OutboxPollerHandler,
  type OutboxPollerOptions,
} from './poller/index.js';
export {
  OutboxPurgeScheduler,
  OutboxPurgeSchedulerBuilder,
  type OutboxPurgeSchedulerOptions,
} from './purge/index.js';
export {
  DefaultListenerRegistry,
  type ListenerRegistry,
  type OutboxEventListener,
} from './registry/index.js';
export { type Runtime, type Timer, type TimerOptions, realRuntime } from './runtime/index.js';
export {
  AbstractOutboxStore,
  type BlockedKey,
  type ConnectionProvider,
  type DeadEventQuery,
  type EventOutcome,
  type EventPurger,
  type InsertOptions,
  type LeaseRequest,
  type LeasedOutboxStore,
  MetricsExporter,
  type OutboxLogger,
  type OutboxSchema,
  type OutboxStore,
  type ProvidedConnection,
  type SchemaStatus,
  type SqlConnection,
  type TxCallback,
  type TxContext,
  WriterHook,
  withConnection,
} from './spi/index.js';
export { DefaultJsonCodec, JsonCodec } from './util/index.js';
