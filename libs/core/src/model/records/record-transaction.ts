import type { OutgoingRecord } from '@nest-event-bus/broker';

/** What counts together with the record that is handled, or not at all. */
export interface RecordTransaction {
  /**
   * Written once the handler has succeeded, in one transaction with the progress of its record.
   * When the handler fails, or the transaction does, none of it can be read, and the record comes
   * again. Returns at once: the records wait in memory until then.
   */
  send(records: OutgoingRecord | readonly OutgoingRecord[]): void;
}
