import { suggestion } from '../model/nearest-name.js';
import {
  ApplicationException,
  EventBusException,
  type ExceptionOptions,
} from './event-bus-exception.js';

/** Handlers and bindings do not fit each other. Every mismatch is listed. */
export class HandlerDiscoveryException extends EventBusException {
  readonly code = 'HANDLER_DISCOVERY';
  readonly retriable = false;

  constructor(readonly problems: readonly string[]) {
    super(
      [
        'Handlers and bindings of the event bus do not fit:',
        ...problems.map((problem) => `  - ${problem}`),
      ].join('\n'),
    );
  }
}

/**
 * A guard refused the record, or a global interceptor did not call its handler. The record itself
 * may be good, so it is redelivered and never dead-lettered.
 */
export class HandlerRefusedException extends EventBusException {
  readonly code = 'HANDLER_REFUSED';
  readonly retriable = true;
}

interface DeserializationDetails extends ExceptionOptions {
  readonly part?: 'key' | 'value';
  readonly format?: string;
  readonly reason?: string;
}

/**
 * The bytes of a record do not have the format that the binding expects. Trying again cannot help.
 */
export class DeserializationException extends EventBusException {
  readonly code = 'DESERIALIZATION';
  readonly retriable = false;

  /** The part of the record that could not be read. */
  readonly part: 'key' | 'value';
  /** The expected format, by the name of the deserializer. */
  readonly format: string | undefined;
  /** A reason that quotes no part of the record. */
  readonly reason: string | undefined;

  constructor(
    message: string,
    { part = 'value', format, reason, ...options }: DeserializationDetails = {},
  ) {
    super(message, options);
    this.part = part;
    this.format = format;
    this.reason = reason;
  }
}

/** The payload was read, but its class or schema rejects it. Trying again cannot help. */
export class PayloadValidationException extends EventBusException {
  readonly code = 'PAYLOAD_VALIDATION';
  readonly retriable = false;

  constructor(
    message: string,
    readonly issues: readonly string[],
    options: ExceptionOptions = {},
  ) {
    super(message, options);
  }
}

/** The binding has no handler for the type of the record. */
export class UnknownEventTypeException extends EventBusException {
  readonly code = 'UNKNOWN_EVENT_TYPE';
  readonly retriable = false;
}

/** A handler or an operator decided that the record goes to the dead-letter topic. */
export class DeadLetterRequestedException extends ApplicationException {
  readonly code = 'DEAD_LETTER_REQUESTED';
  readonly retriable = false;
}

/** Names the record of a batch that failed. */
export class BatchProcessingException extends ApplicationException {
  readonly code = 'BATCH_PROCESSING';
  readonly retriable = true;

  constructor(
    readonly failedIndex: number,
    message: string,
    readonly records: readonly unknown[] = [],
    options: ExceptionOptions = {},
  ) {
    super(message, options);
    // Readable, but not printed with the exception.
    Object.defineProperty(this, 'records', { enumerable: false });
  }
}

/** A binding is to be registered with declared handlers, and there are none. */
export class HandlerNotFoundException extends EventBusException {
  readonly code = 'HANDLER_NOT_FOUND';
  readonly retriable = false;

  constructor(
    readonly binding: string,
    readonly declaredFor: string,
    known: readonly string[],
  ) {
    super(
      `Binding '${binding}' cannot be registered: no method with @EventHandler('${declaredFor.slice(0, 100)}') is declared. ${known.length === 0 ? 'The application declares none: write one.' : suggestion(declaredFor, known)}`,
    );
  }
}
