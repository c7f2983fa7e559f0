import {
  CrossSiteRequestException,
  DeadLetterNotFoundException,
  InvalidAdminRequestException,
  RightNotAllowedException,
} from '../../errors/admin-errors.js';
import { CircuitBreakerOpenException } from '../../errors/circuit-errors.js';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';
import {
  AmbiguousBindingException,
  BindingAlreadyExistsException,
  BindingNotConsumedException,
  BindingNotFoundException,
  ContainerUnresponsiveException,
  EventBusShuttingDownException,
  InvalidContainerStateException,
  NoRecordWaitsException,
  TierNotFoundException,
  UnknownClusterException,
} from '../../errors/container-errors.js';
import { DeliveryAbortedException, HandlerOverdueException } from '../../errors/delivery-errors.js';
import { EventBusException } from '../../errors/event-bus-exception.js';
import {
  EventBusDisabledException,
  EventBusNotReadyException,
} from '../../errors/event-bus-state-errors.js';
import {
  BatchProcessingException,
  DeadLetterRequestedException,
  DeserializationException,
  HandlerDiscoveryException,
  HandlerNotFoundException,
  HandlerRefusedException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import {
  IdempotencyKeyException,
  IdempotencyStoreException,
} from '../../errors/idempotency-errors.js';
import {
  DltPublishException,
  EventPublishException,
  RetryPublishException,
} from '../../errors/publish-errors.js';
import { ConfigurationNeedsRestartException } from '../../errors/runtime-configuration-errors.js';
import {
  FleetNotConfiguredException,
  FleetOrderException,
  FleetUnavailableException,
} from '../../errors/fleet-errors.js';
import {
  InvalidDeadLetterEditException,
  InvalidDeadLetterFilterException,
  RedrivePlanNotFoundException,
  RedriveRefusedException,
  SchedulerMissingException,
} from '../../errors/redrive-errors.js';
import { ErrorResultException, RetryableResultException } from '../../errors/result-errors.js';
import {
  IllegalArgumentError,
  NonRetryableException,
  RetryableException,
} from '../../errors/retry-errors.js';
import { TransactionException } from '../../errors/transaction-errors.js';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import type { ErrorClass } from './error-matcher.js';

/** Errors of the library. The keys are written out, because a bundler may rename the classes. */
export const LIBRARY_ERRORS: Readonly<Record<string, ErrorClass>> = Object.freeze({
  AmbiguousBindingException,
  BatchProcessingException,
  BindingAlreadyExistsException,
  BindingNotConsumedException,
  BindingNotFoundException,
  CircuitBreakerOpenException,
  ConfigurationValidationException,
  ContainerUnresponsiveException,
  CrossSiteRequestException,
  DeadLetterNotFoundException,
  DeadLetterRequestedException,
  DeliveryAbortedException,
  DeserializationException,
  DltPublishException,
  ErrorResultException,
  EventBusDisabledException,
  EventBusException,
  EventBusNotReadyException,
  EventBusShuttingDownException,
  EventPublishException,
  HandlerDiscoveryException,
  HandlerNotFoundException,
  HandlerOverdueException,
  HandlerRefusedException,
  IdempotencyKeyException,
  IdempotencyStoreException,
  IllegalArgumentError,
  InvalidAdminRequestException,
  InvalidContainerStateException,
  InvalidDeadLetterEditException,
  InvalidDeadLetterFilterException,
  NoRecordWaitsException,
  NonRetryableException,
  PayloadValidationException,
  RedrivePlanNotFoundException,
  ConfigurationNeedsRestartException,
  FleetNotConfiguredException,
  FleetOrderException,
  FleetUnavailableException,
  RedriveRefusedException,
  RightNotAllowedException,
  SchedulerMissingException,
  RetryableException,
  RetryableResultException,
  RetryPublishException,
  SchemaRegistryUnavailableException,
  TierNotFoundException,
  UnknownClusterException,
  TransactionException,
  UnknownEventTypeException,
});

/** Known names of errors that have no class here and are compared by name. */
export const NAMED_ERRORS: readonly string[] = Object.freeze([
  // JavaScript's own errors. They are compared by name, because each realm (a worker, the vm of
  // jest) has its own classes.
  'AggregateError',
  'Error',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
  // Errors of an AbortSignal. They share the class DOMException and differ by name.
  'AbortError',
  'TimeoutError',
  // Names that preset `brokers` uses. None of them stands for TypeError, because the preset
  // separates a TypeError of a bug from a TypeError of fetch.
  'ClassCastException',
  'IllegalArgumentException',
  'NullPointerException',
]);
