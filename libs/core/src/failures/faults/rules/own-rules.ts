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
import { isBadMessage } from '../unwrap-batch-error.js';
import { isOneOf } from '../thrown.js';

const REFUSALS = [AuthenticationError, AuthorizationError, ClosedError] as const;

export const ownRules: readonly FaultRule[] = [
  {
    name: 'the message cannot be read, does not fit or has a type that nobody takes',
    fault: 'message',
    holds: ({ value }) => isBadMessage(value),
  },
  {
    name: 'the handler gives the record up, or says that no other call can help',
    fault: 'message',
    holds: ({ value }) => isOneOf(value, [NonRetryableException, DeadLetterRequestedException]),
  },
  {
    name: 'the handler says that another call may help',
    fault: 'unknown',
    // It does not say what it waits for: an event that is still on its way, or a database.
    yieldsTo: 'world',
    holds: ({ value }) => value instanceof RetryableException,
  },
  {
    name: 'a circuit is open',
    fault: 'world',
    isExtended: true,
    holds: ({ value, names, code }) =>
      value instanceof CircuitBreakerOpenException ||
      names.has('BrokenCircuitError') ||
      // opossum's
      code === 'EOPENBREAKER',
  },
  {
    name: 'a guard refused the record',
    fault: 'world',
    holds: ({ value }) => value instanceof HandlerRefusedException,
  },
  {
    name: 'the schema registry or the idempotency store does not answer',
    fault: 'world',
    holds: ({ value }) =>
      isOneOf(value, [SchemaRegistryUnavailableException, IdempotencyStoreException]),
  },
  {
    name: 'the record has no key by which a second delivery could be told',
    fault: 'message',
    holds: ({ value }) => value instanceof IdempotencyKeyException,
  },
  {
    name: 'an event is too large to be published',
    fault: 'message',
    holds: ({ value }) => value instanceof RecordTooLargeError,
  },
  {
    name: 'Kafka cannot be reached, or refuses for now',
    fault: 'world',
    holds: ({ value }) => value instanceof BrokerError && value.retriable,
  },
  {
    // The application's rights and its connection, which every record needs alike.
    name: 'Kafka refuses the application, or was closed',
    fault: 'world',
    holds: ({ value }) => isOneOf(value, REFUSALS),
  },
];
