import type { OutgoingRecord } from '@nest-event-bus/broker';

/** Sends records that are written together with the offset of the handled record, or not at all. */
export interface RecordTransaction {
  /**
   * Sends records after the handler has succeeded, in one transaction with the offset of its
   * record. If the handler or the transaction fails, read_committed consumers get none of them, and
   * the record is delivered again. Returns at once, because the records are kept in memory until
   * then.
   */
  send(records: OutgoingRecord | readonly OutgoingRecord[]): void;
}
