import type { Outcome, SliceOutcome } from '../../model/outcomes/outcome.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import type { LogContexts } from './log-contexts.js';

type SliceOutcomes<OfSlice> = readonly OfSlice[] | Promise<readonly OfSlice[]>;

/**
 * Runs all later steps in the log context of the record, or of the slice: the preparation, the
 * handler, and the routing of a failure.
 */
export class LogContextStep<
  OfSlice extends SliceOutcome = SliceOutcome,
> implements PipelineStep<OfSlice> {
  constructor(
    private readonly next: PipelineStep<OfSlice>,
    private readonly contexts: LogContexts,
  ) {}

  process(call: RecordCall): Outcome | Promise<Outcome> {
    return this.contexts.runCall(call, this.#processNext, call);
  }

  processSlice(slice: readonly RecordCall[]): SliceOutcomes<OfSlice> {
    return this.contexts.runSlice(slice, this.#processNextSlice, slice);
  }

  // Both are created once, so that a record needs no closure.
  readonly #processNext = (call: RecordCall): Outcome | Promise<Outcome> => this.next.process(call);

  readonly #processNextSlice = (slice: readonly RecordCall[]): SliceOutcomes<OfSlice> =>
    this.next.processSlice(slice);
}

/**
 * Runs the step that handles the records of a slice one by one in the log context of the record
 * that it handles, which is the first one.
 */
export class FirstRecordLogContextStep implements PipelineStep {
  constructor(
    private readonly next: PipelineStep,
    private readonly contexts: LogContexts,
  ) {}

  process(call: RecordCall): Outcome | Promise<Outcome> {
    return this.contexts.runCall(call, () => this.next.process(call));
  }

  processSlice(slice: readonly RecordCall[]): SliceOutcomes<Outcome> {
    return this.contexts.runSlice(slice.slice(0, 1), () => this.next.processSlice(slice));
  }
}
