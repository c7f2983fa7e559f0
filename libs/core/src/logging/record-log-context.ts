/** Fields of a log line. Values are short texts and numbers, and never a payload or a key. */
export type LogFields = Readonly<Record<string, unknown>>;

/**
 * Fields of the record, or the batch, that is being handled. Offsets are decimal text, because a
 * number could lose digits.
 */
export interface RecordLogFields {
  readonly bindingName: string;
  /** The topic from which the record was read: in a retry tier that of the tier. */
  readonly topic: string;
  readonly partition: number;
  /** The offset of the record, or of the first record of a batch. */
  readonly offset: string;
  /** The offset of the last record of a batch. Absent for one record. */
  readonly lastOffset?: string;
  /** The number of records of a batch. Absent for one record. */
  readonly records?: number;
  readonly consumerGroup: string;
  /** Host name and number of the session: `host-0`. */
  readonly consumerInstance: string;
  /** 0 for the main topic. */
  readonly retryTier: number;
  /** Number of the handler call over all tiers, from 1. Of a batch: that of its first record. */
  readonly attempt: number;
  /** Header `message-id` or `x-outbox-event-id`. Absent for a batch. */
  readonly eventId?: string;
  /** Header `correlation-id` or `x-correlation-id`. Absent for a batch. */
  readonly correlationId?: string;
}

/** What log lines say about the record, or the batch, that is being handled. */
export interface RecordLogContext {
  readonly fields: LogFields;
  /** `[orders|orders.events|3|14209|order-group|host-0]` */
  readonly prefix: string;
  /** Returns whether these fields of a log line name the record, or one of the batch. */
  isNamedBy(fields: LogFields): boolean;
}
