import type { OutgoingRecord } from '@nest-event-bus/broker';
import { TransactionException } from '../../errors/transaction-errors.js';
import { hasEventBusPrefix } from '../../model/records/event-bus-headers.js';
import type { RecordTransaction } from '../../model/records/record-transaction.js';

/** What one call of a handler sends. Of a call that failed nothing is left. */
export class RecordOutputs implements RecordTransaction {
  readonly records: OutgoingRecord[] = [];
  #isClosed = false;

  send(records: OutgoingRecord | readonly OutgoingRecord[]): void {
    if (this.#isClosed)
      throw new TransactionException(
        'ctx.transaction.send() came after the handler had returned, and nothing was sent: await what it does before it returns.',
        false,
      );
    for (const record of isList(records) ? records : [records])
      this.records.push(copyWithoutBusHeaders(record));
  }

  close(): void {
    this.#isClosed = true;
  }
}

/**
 * Whoever fills the same object again does not change what was sent. The bus's own headers tell of
 * another record: with them this one could pass for its replay.
 */
function copyWithoutBusHeaders({ headers, ...record }: OutgoingRecord): OutgoingRecord {
  return headers
    ? { ...record, headers: headers.filter(({ key }) => !hasEventBusPrefix(key)) }
    : record;
}

function isList(
  records: OutgoingRecord | readonly OutgoingRecord[],
): records is readonly OutgoingRecord[] {
  return Array.isArray(records);
}
