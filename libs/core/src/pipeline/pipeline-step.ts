import type { Outcome } from '../model/outcomes/outcome.js';
import type { RecordCall } from './record-call.js';

/**
 * A step of a record with the rest of the pipeline inside it: it acts before and after the steps
 * that it calls. It never throws or rejects, because a failure is an outcome.
 */
export interface PipelineStep {
  process(call: RecordCall): Outcome | Promise<Outcome>;
  /**
   * Returns one outcome per record, in order. The records at the end that have no outcome were not
   * processed yet, and are passed in again.
   */
  processSlice(slice: readonly RecordCall[]): readonly Outcome[] | Promise<readonly Outcome[]>;
}

/** undefined: the record is ready for its handler. An outcome ends it without a call. */
export type Prepared = Outcome | undefined;

/** Prepares a record for a call of its handler. Throws or rejects if something is wrong with it. */
export type PreparationStep = (call: RecordCall) => Prepared | Promise<Prepared>;
