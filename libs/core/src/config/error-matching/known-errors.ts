import { CircuitBreakerOpenException } from '../../errors/circuit-errors.js';
import { ConfigurationValidationException } from '../../errors/configuration-validation-exception.js';
import {
  AmbiguousBindingException,
  BindingAlreadyExistsException,
  BindingNotFoundException,
  ContainerUnresponsiveException,
  EventBusShuttingDownException,
  InvalidContainerStateException,
  NoRecordWaitsException,
  TierNotFoundException,
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
  BindingNotFoundException,
  CircuitBreakerOpenException,
  ConfigurationValidationException,
  ContainerUnresponsiveException,
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
  HandlerOverdueException,
  HandlerRefusedException,
  IdempotencyKeyException,
  IdempotencyStoreException,
  IllegalArgumentError,
  InvalidContainerStateException,
  NoRecordWaitsException,
  NonRetryableException,
  PayloadValidationException,
  RetryableException,
  RetryableResultException,
  RetryPublishException,
  SchemaRegistryUnavailableException,
  TierNotFoundException,
  TransactionException,
  UnknownEventTypeException,
});

/** Known names of errors that are matched by name. */
export const NAMED_ERRORS: readonly string[] = Object.freeze([
  // JavaScript's own errors, matched by name, because each realm (a worker's vm, jest) has its own classes.
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
  // Names in preset `brokers`. No name maps to TypeError, because the preset separates a TypeError
  // of a bug from one of fetch.
  'ClassCastException',
  'IllegalArgumentException',
  'NullPointerException',
]);
