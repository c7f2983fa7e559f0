import type { Delivery } from '../../model/outcomes/delivery.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import type { Prepared, ReadyRecord } from './preparation.js';

/** Prepares a record for another call of its handler. */
export interface RecordSource {
  prepare(delivery: Delivery, call: number): Prepared | Promise<Prepared>;
}

/** Calls one handler with these records, once. One outcome for each; it does not throw. */
export type SliceCall = (
  slice: readonly ReadyRecord[],
) => readonly Outcome[] | Promise<readonly Outcome[]>;

/** What a prepared record goes through before its handler and after it. It never throws: a failure is an outcome. */
export interface HandlerStep {
  invoke(ready: ReadyRecord, source: RecordSource): Outcome | Promise<Outcome>;
  invokeSlice(
    slice: readonly ReadyRecord[],
    call: SliceCall,
  ): readonly Outcome[] | Promise<readonly Outcome[]>;
}
