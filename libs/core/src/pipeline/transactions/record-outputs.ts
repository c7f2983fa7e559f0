import type { OutgoingRecord } from '@nest-event-bus/broker';
import { TransactionException } from '../../errors/transaction-errors.js';
import { hasEventBusPrefix } from '../../model/records/event-bus-headers.js';
import type { RecordTransaction } from '../../model/records/record-transaction.js';

/** The records that one call of a handler sends. If the call fails, they are dropped. */
export class RecordOutputs implements RecordTransaction {
  readonly records: OutgoingRecord[] = [];
  readonly #isClosed: () => boolean;

  /** `isClosed` tells whether the handler has returned or failed. */
  constructor(isClosed: () => boolean) {
    this.#isClosed = isClosed;
  }

  send(records: OutgoingRecord | readonly OutgoingRecord[]): void {
    if (this.#isClosed())
      throw new TransactionException(
        'ctx.transaction.send() came after the handler had returned, and nothing was sent: await what it does before it returns.',
        false,
      );
    for (const record of isList(records) ? records : [records])
      this.records.push(copyWithoutBusHeaders(record));
  }
}

/**
 * Copies the record, so that a handler can reuse its object. Drops the headers of the bus: they
 * describe another record, and with them this one could be taken for its replay.
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
