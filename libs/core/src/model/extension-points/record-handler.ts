import type { EventContext } from '../records/event-context.js';
import type { EventRecord } from '../records/event-record.js';

/** Handles one record: returning is success, throwing is failure. */
export type RecordHandler<T = unknown> = (record: EventRecord<T>, context: EventContext) => unknown;

/** The handler of a binding with `listenerType: 'BATCH'`: the bus goes through the batch and calls it for one record at a time. */
export type BatchRecordHandler<T = unknown> = RecordHandler<T>;

/** Handles a whole slice: all records of it are done when the handler returns. */
export type SliceHandler<T = unknown> = (
  records: readonly EventRecord<T>[],
  contexts: readonly EventContext[],
) => unknown;
