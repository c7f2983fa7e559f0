import type { DltRecord } from '../records/dlt-record.js';
import type { DeliveryAttempt, EventContext } from '../records/event-context.js';
import type { EventHeaders } from '../records/event-record.js';
import type { RecordKey } from '../records/record-key.js';
import type { ExceptionRoutingDecision } from '../outcomes/exception-routing-decision.js';

/**
 * Handles the events of one type. Every provider with these two methods and the decorator
 * `@HandlesEvents` is found.
 */
export interface EventTypeHandler<T = unknown> {
  getEventType(): string;
  handleEvent(event: T, context: EventContext): unknown;
}

/**
 * Position and attempts of a message. `toJSON` gives the names of its headers, not their values.
 */
export interface MessageMetadata<K = RecordKey> {
  readonly topic: string;
  readonly partition: number;
  readonly offset: bigint;
  readonly key: K;
  /** Milliseconds since 1970. */
  readonly timestamp: number;
  readonly headers: EventHeaders;
  readonly attempt: DeliveryAttempt;
  /** Aborts when the partition is revoked or the drain time is over. */
  readonly signal: AbortSignal;
  /**
   * Acknowledges the message, hands it back, dead-letters it, sends records in its transaction, and
   * logs.
   */
  readonly context: EventContext;
  toJSON(): Readonly<Record<string, unknown>>;
}

/**
 * Handles the messages of a binding that a consumer in `EventBusModule.forFeature` names. A return
 * means success, an exception means failure.
 */
export interface MessageHandler<T = unknown> {
  handle(message: T, metadata: MessageMetadata): unknown;
}

/** Called for each dead letter after the write. If it fails, the record is still written. */
export interface DltAlertHandler {
  onDeadLetter(record: DltRecord): void | Promise<void>;
}

/**
 * `'discard'`: the handler took care of the record, and nothing is written to the dead-letter
 * topic.
 */
export type DltVerdict = 'store' | 'discard';

/**
 * Decides about a dead letter before the write (`dlt.strategy: 'CUSTOM'`). After an error, a
 * timeout or an unknown answer the record is stored.
 */
export interface DltRecordHandler {
  handle(record: DltRecord): DltVerdict | void | Promise<DltVerdict | void>;
}

/** Decides where a failed record goes. One instance per binding, without state. */
export interface ExceptionClassifier {
  classify(error: Error, currentTier: number): ExceptionRoutingDecision;
}
