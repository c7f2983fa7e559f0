import type { BrokerRecord } from '@nest-event-bus/broker';
import type { RecordLog } from './record-log.js';
import type { RecordTransaction } from './record-transaction.js';

/** Numbers of this attempt. Each counts from 1, except `tier`, which is 0 for the main topic. */
export interface DeliveryAttempt {
  /** The handler call within this delivery. */
  readonly call: number;
  /** The delivery within this tier. */
  readonly delivery: number;
  readonly tier: number;
  /** Handler calls over all tiers. */
  readonly total: number;
}

/** Information and actions for a handler, in addition to the record. */
export interface EventContext {
  readonly binding: string;
  readonly cluster: string;
  readonly groupId: string;
  readonly eventType: string | undefined;
  readonly attempt: DeliveryAttempt;
  /**
   * Identifies the record in all topics: `topic-partition-offset` of the topic in which it was
   * first written.
   */
  readonly dedupKey: string;
  /**
   * Aborts with a DeliveryAbortedException when the partition is revoked, the drain time is over,
   * the session has ended or the handler exceeds maxPollIntervalMs. The record is then delivered
   * again. A pause does not abort it.
   */
  readonly signal: AbortSignal;
  /** Logs with the position of the record in every line, and never with its payload. */
  readonly log: RecordLog;
  /** A copy of the record's bytes, so a handler may write into it. */
  readonly raw: BrokerRecord;
  /**
   * Sends records in one transaction with this record. Throws unless `transactions.enabled` is set.
   */
  readonly transaction: RecordTransaction;
  /**
   * Marks the record as done, even if the handler throws afterwards. With `ack: 'manual'`, a record
   * that its handler does not acknowledge is delivered again, later or when the binding is resumed.
   */
  acknowledge(): void;
  /** Sends the record to the dead-letter topic, even if the handler throws afterwards. */
  deadLetter(reason?: string): void;
  /**
   * Hands the record back: it is delivered again, after `delayMs` at the earliest. It does not
   * count as a failure.
   */
  handBack(options?: { readonly delayMs?: number }): void;
}
