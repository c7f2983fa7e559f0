import type { DltRecord } from './dlt-record.js';
import type { EventContext } from './event-context.js';
import type { ExceptionRoutingDecision } from './exception-routing-decision.js';

/** Handles the events of one type; every provider that has these two methods and the `@HandlesEvents` decorator is found. */
export interface EventTypeHandler<T = unknown> {
  getEventType(): string;
  handleEvent(event: T, context: EventContext): unknown;
}

/** Told of each dead letter after it was written; a failure in here changes nothing about the record. */
export interface DltAlertHandler {
  onDeadLetter(record: DltRecord): void | Promise<void>;
}

/** Decides about a dead letter itself (`dlt.strategy: 'CUSTOM'`). */
export interface DltRecordHandler {
  handle(record: DltRecord): void | Promise<void>;
}

/** Says where a failed record goes. One per binding, without state. */
export interface ExceptionClassifier {
  classify(error: Error, currentTier: number): ExceptionRoutingDecision;
}
