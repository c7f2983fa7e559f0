import type {
  EventBusTracer,
  ProcessTrace,
  TracedContainer,
} from '../../model/extension-points/event-bus-tracer.js';
import { settledOutcomes, type Outcome, type SliceOutcome } from '../../model/outcomes/outcome.js';
import { andThen } from '../and-then.js';
import type { PipelineStep } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';

/**
 * Traces what happens to a record until its outcome: the preparation, all calls of the handler, and
 * the write to another topic.
 */
export class TracingStep implements PipelineStep<SliceOutcome> {
  constructor(
    private readonly next: PipelineStep<SliceOutcome>,
    private readonly tracer: EventBusTracer,
    private readonly container: TracedContainer,
  ) {}

  process(call: RecordCall): Outcome | Promise<Outcome> {
    const trace = this.tracer.process(this.container, [call.delivery.record]);
    if (!trace) return this.next.process(call);
    return andThen(
      trace.run(() => this.next.process(call)),
      endRecord,
      trace,
    );
  }

  processSlice(
    slice: readonly RecordCall[],
  ): readonly SliceOutcome[] | Promise<readonly SliceOutcome[]> {
    const records = slice.map(({ delivery }) => delivery.record);
    const trace = this.tracer.process(this.container, records);
    if (!trace) return this.next.processSlice(slice);
    return andThen(
      trace.run(() => this.next.processSlice(slice)) as Promise<readonly SliceOutcome[]>,
      endSlice,
      trace,
    );
  }
}

function endRecord(outcome: Outcome, trace: ProcessTrace): Outcome {
  trace.end([outcome]);
  return outcome;
}

/** The span lasts until each record that was written to another topic has been acknowledged. */
function endSlice(outcomes: readonly SliceOutcome[], trace: ProcessTrace): readonly SliceOutcome[] {
  void settledOutcomes(outcomes).then((settled) => trace.end(settled));
  return outcomes;
}
