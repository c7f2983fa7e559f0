import type { EventContext } from '../records/event-context.js';
import type { EventRecord } from '../records/event-record.js';

/** What a user writes: returning is success, throwing is failure. */
export type RecordHandler<T = unknown> = (record: EventRecord<T>, context: EventContext) => unknown;

/** The handler of a binding with `listenerType: 'BATCH'`: the bus goes through the batch and calls it for one record at a time. */
export type BatchRecordHandler<T = unknown> = RecordHandler<T>;

/** A handler that takes the whole slice: all of it is done when it returns. */
export type SliceHandler<T = unknown> = (
  records: readonly EventRecord<T>[],
  contexts: readonly EventContext[],
) => unknown;
