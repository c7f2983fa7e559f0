import type { OutgoingRecord } from '@nest-event-bus/broker';

/** Records that are written together with the progress of the handled record, or not at all. */
export interface RecordTransaction {
  /**
   * Sends records after the handler has succeeded, in one transaction with the offset of its record.
   * If the handler or the transaction fails, consumers read none of them, and the record is
   * delivered again. Returns at once: the records wait in memory until then.
   */
  send(records: OutgoingRecord | readonly OutgoingRecord[]): void;
}
