import { CircuitBreakerOpenException } from '../errors/circuit-errors.js';
import { ConfigurationValidationException } from '../errors/configuration-validation-exception.js';
import {
  AmbiguousBindingException,
  BindingAlreadyExistsException,
  BindingNotFoundException,
  ContainerUnresponsiveException,
  EventBusShuttingDownException,
  InvalidContainerStateException,
} from '../errors/container-errors.js';
import { EventBusException } from '../errors/event-bus-exception.js';
import {
  EventBusDisabledException,
  EventBusNotReadyException,
} from '../errors/event-bus-state-errors.js';
import {
  BatchProcessingException,
  DeserializationException,
  HandlerDiscoveryException,
  HandlerRefusedException,
  PayloadValidationException,
  UnknownEventTypeException,
} from '../errors/handler-errors.js';
import { DltPublishException, EventPublishException } from '../errors/publish-errors.js';
import type { ErrorClass } from './error-matcher.js';

/** The library's own. The keys are written out: a bundler may rename the classes. */
export const LIBRARY_ERRORS: Readonly<Record<string, ErrorClass>> = Object.freeze({
  AmbiguousBindingException,
  BatchProcessingException,
  BindingAlreadyExistsException,
  BindingNotFoundException,
  CircuitBreakerOpenException,
  ConfigurationValidationException,
  ContainerUnresponsiveException,
  DeserializationException,
  DltPublishException,
  EventBusDisabledException,
  EventBusException,
  EventBusNotReadyException,
  EventBusShuttingDownException,
  EventPublishException,
  HandlerDiscoveryException,
  HandlerRefusedException,
  InvalidContainerStateException,
  PayloadValidationException,
  UnknownEventTypeException,
});

/** Names that are known and match by name. */
export const NAMED_ERRORS: readonly string[] = Object.freeze([
  // JavaScript's own. By name, since each realm (a worker's vm, jest) has classes of its own.
  'AggregateError',
  'Error',
  'EvalError',
  'RangeError',
  'ReferenceError',
  'SyntaxError',
  'TypeError',
  'URIError',
  // What an AbortSignal rejects with: one class, DOMException, which the name tells apart.
  'AbortError',
  'TimeoutError',
  // Preset `brokers` has these. None stands for TypeError: that is how fetch says that the network failed.
  'ClassCastException',
  'IllegalArgumentException',
  'NullPointerException',
]);
