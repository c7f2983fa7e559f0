import type { EventContext } from '../records/event-context.js';
import type { EventRecord } from '../records/event-record.js';
import type { RecordKey } from '../records/record-key.js';

/** Handles one record. A return means success, an exception means failure. */
export type RecordHandler<T = unknown, K = RecordKey> = (
  record: EventRecord<T, K>,
  context: EventContext,
) => unknown;

/**
 * The handler of a binding with `listenerType: 'BATCH'` that takes one record per call. The bus
 * calls it for each record of the batch.
 */
export type BatchRecordHandler<T = unknown, K = RecordKey> = RecordHandler<T, K>;

/** Handles a whole slice in one call. All its records are done when the handler returns. */
export type SliceHandler<T = unknown, K = RecordKey> = (
  records: readonly EventRecord<T, K>[],
  contexts: readonly EventContext[],
) => unknown;
