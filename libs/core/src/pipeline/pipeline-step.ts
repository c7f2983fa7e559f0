import type { Outcome, SliceOutcome } from '../model/outcomes/outcome.js';
import type { RecordCall } from './record-call.js';

/**
 * A step around the later steps of the pipeline: it acts before and after it calls them. It never
 * throws or rejects, because a failure is an outcome.
 */
export interface PipelineStep<OfSlice extends SliceOutcome = Outcome> {
  process(call: RecordCall): Outcome | Promise<Outcome>;
  /**
   * Returns outcomes for the first records of the slice, in order. The other records were not
   * processed yet, and are passed in again.
   */
  processSlice(slice: readonly RecordCall[]): readonly OfSlice[] | Promise<readonly OfSlice[]>;
}

/**
 * Result of a preparation step. undefined: the record is ready for its handler. An outcome ends the
 * record's delivery without a handler call.
 */
export type Prepared = Outcome | undefined;

/**
 * Prepares a record for a handler call. Throws or rejects if something is wrong with the record.
 */
export type PreparationStep = (call: RecordCall) => Prepared | Promise<Prepared>;
