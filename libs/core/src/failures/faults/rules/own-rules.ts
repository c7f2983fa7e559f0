import {
  AuthenticationError,
  AuthorizationError,
  BrokerError,
  ClosedError,
  RecordTooLargeError,
} from '@nest-event-bus/broker';
import { CircuitBreakerOpenException } from '../../../errors/circuit-errors.js';
import { NonRetryableException, RetryableException } from '../../../errors/retry-errors.js';
import {
  IdempotencyKeyException,
  IdempotencyStoreException,
} from '../../../errors/idempotency-errors.js';
import { SchemaRegistryUnavailableException } from '../../../errors/schema-registry-errors.js';
import {
  DeadLetterRequestedException,
  HandlerRefusedException,
} from '../../../errors/handler-errors.js';
import type { FaultRule } from '../fault.js';
import { isBadMessage } from '../bad-messages.js';
import { isOneOf } from '../thrown.js';

const REFUSALS = [AuthenticationError, AuthorizationError, ClosedError] as const;

export const ownRules: readonly FaultRule[] = [
  {
    name: 'the message cannot be read, is not valid or has a type without a handler',
    fault: 'message',
    matches: ({ value }) => isBadMessage(value),
  },
  {
    name: 'the handler gives the record up, or says that no further call can help',
    fault: 'message',
    matches: ({ value }) => isOneOf(value, [NonRetryableException, DeadLetterRequestedException]),
  },
  {
    name: 'the handler says that another call may help',
    fault: 'unknown',
    // The error does not say what it waits for: an event that is still on its way, or a database.
    yieldsTo: 'dependency',
    matches: ({ value }) => value instanceof RetryableException,
  },
  {
    name: 'a circuit is open',
    fault: 'dependency',
    isExtended: true,
    matches: ({ value, names, code }) =>
      value instanceof CircuitBreakerOpenException ||
      names.has('BrokenCircuitError') ||
      // The code of opossum.
      code === 'EOPENBREAKER',
  },
  {
    name: 'a guard refused the record',
    fault: 'dependency',
    matches: ({ value }) => value instanceof HandlerRefusedException,
  },
  {
    name: 'the schema registry or the idempotency store does not answer',
    fault: 'dependency',
    matches: ({ value }) =>
      isOneOf(value, [SchemaRegistryUnavailableException, IdempotencyStoreException]),
  },
  {
    name: 'the record has no key that identifies a second delivery',
    fault: 'message',
    matches: ({ value }) => value instanceof IdempotencyKeyException,
  },
  {
    name: 'an event is too large to be published',
    fault: 'message',
    matches: ({ value }) => value instanceof RecordTooLargeError,
  },
  {
    name: 'Kafka cannot be reached, or refuses for now',
    fault: 'dependency',
    matches: ({ value }) => value instanceof BrokerError && value.retriable,
  },
  {
    // Rights and connection belong to the application, and every record needs them.
    name: 'Kafka refuses the application, or was closed',
    fault: 'dependency',
    matches: ({ value }) => isOneOf(value, REFUSALS),
  },
];
