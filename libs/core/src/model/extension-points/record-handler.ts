import type { EventContext } from '../records/event-context.js';
import type { EventRecord } from '../records/event-record.js';

/** Handles one record. A return means success, an exception means failure. */
export type RecordHandler<T = unknown> = (record: EventRecord<T>, context: EventContext) => unknown;

/**
 * The handler of a binding with `listenerType: 'BATCH'` that takes one record per call. The bus
 * calls it for each record of the batch.
 */
export type BatchRecordHandler<T = unknown> = RecordHandler<T>;

/** Handles a whole slice in one call. All its records are done when the handler returns. */
export type SliceHandler<T = unknown> = (
  records: readonly EventRecord<T>[],
  contexts: readonly EventContext[],
) => unknown;
