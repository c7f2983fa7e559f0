import type { EventEnvelope } from '../model/event-envelope.js';

type MaybePromise<T> = T | Promise<T>;

/**
 * Observes and changes what an OutboxWriter writes. An error of `beforeWrite` aborts the write.
 * Errors of the other methods are logged.
 */
export interface WriterHook {
  /** Returns the events to write. Nothing is written if it returns null or no events. */
  beforeWrite?(
    events: readonly EventEnvelope[],
  ): MaybePromise<readonly EventEnvelope[] | null | undefined>;
  /** Called in the transaction, after the insert. */
  afterWrite?(events: readonly EventEnvelope[]): MaybePromise<void>;
  afterCommit?(events: readonly EventEnvelope[]): MaybePromise<void>;
  afterRollback?(events: readonly EventEnvelope[]): MaybePromise<void>;
}

export const WriterHook = Object.freeze({
  NOOP: Object.freeze<WriterHook>({}),
});
