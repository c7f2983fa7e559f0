import type { BrokerRecord, DriverLogger } from '@nest-event-bus/broker';
import type { RecordTransaction } from './record-transaction.js';

/** How often this record was tried. Each counts from 1, except the tier: 0 is the main topic. */
export interface DeliveryAttempt {
  /** The call of the handler within this delivery. */
  readonly call: number;
  /** The delivery within this tier. */
  readonly delivery: number;
  readonly tier: number;
  /** Calls over all tiers. */
  readonly total: number;
}

/** What a handler may know and do besides reading the record. */
export interface EventContext {
  readonly binding: string;
  readonly cluster: string;
  readonly groupId: string;
  readonly eventType: string | undefined;
  readonly attempt: DeliveryAttempt;
  /** Names the record for ever: `topic-partition-offset` of where it was first written. */
  readonly dedupKey: string;
  /**
   * Aborts when the partition is taken away, the drain time is over, the session has ended or the
   * handler exceeds maxPollIntervalMs, with a DeliveryAbortedException: the record is delivered
   * again. Not at a pause.
   */
  readonly signal: AbortSignal;
  /** Writes with the record's position in every line, never with its payload. */
  readonly log: DriverLogger;
  /** A copy of the record's bytes: writing into it changes nobody else's record. */
  readonly raw: BrokerRecord;
  /** With `transactions.enabled`: what is sent with it counts together with this record. Throws without. */
  readonly transaction: RecordTransaction;
  /**
   * The record counts as done, even if the handler throws after it. With `ack: 'manual'` a record
   * that its handler does not acknowledge is delivered again, later or when the binding is resumed.
   */
  acknowledge(): void;
  /** Gives the record up: it goes to the dead-letter topic, even if the handler throws after it. */
  deadLetter(reason?: string): void;
  /** Gives the record back: it is delivered again, after `delayMs` at the earliest. It does not count as a failure. */
  handBack(options?: { readonly delayMs?: number }): void;
}
