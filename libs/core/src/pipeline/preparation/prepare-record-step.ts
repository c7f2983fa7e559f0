import { handedBack, type Outcome } from '../../model/outcomes/outcome.js';
import { andThen, isPromiseLike } from '../and-then.js';
import type { PipelineStep, Prepared } from '../pipeline-step.js';
import type { RecordCall } from '../record-call.js';
import { failedWith } from '../to-error.js';
import type { Preparation } from './preparation.js';

/** Prepares a record for its handler, and passes on only a record that is ready. */
export class PrepareRecordStep implements PipelineStep {
  constructor(
    private readonly next: PipelineStep,
    private readonly preparation: Preparation,
  ) {}

  process(call: RecordCall): Outcome | Promise<Outcome> {
    let prepared: Prepared | Promise<Prepared>;
    try {
      prepared = this.preparation.prepare(call);
    } catch (error) {
      prepared = this.preparation.prepareAgain(error, call);
    }
    if (isPromiseLike(prepared)) return this.#processLater(call, prepared);
    if (prepared) return prepared;
    try {
      return this.next.process(call);
    } catch (error) {
      // An exception becomes a failure. Consuming would deliver the record again without end.
      return failedWith(error);
    }
  }

  /** Takes one record at a time. The others are passed in again. */
  processSlice([first]: readonly RecordCall[]): readonly Outcome[] | Promise<readonly Outcome[]> {
    return first ? andThen(this.process(first), (outcome) => [outcome], undefined) : [];
  }

  async #processLater(call: RecordCall, pending: PromiseLike<Prepared>): Promise<Outcome> {
    let prepared: Prepared;
    try {
      prepared = await pending;
    } catch (error) {
      prepared = await this.preparation.prepareAgain(error, call);
    }
    // The preparation took time. After a pause no record may reach a handler.
    if (call.delivery.isCancelled) return handedBack;
    try {
      return prepared ?? (await this.next.process(call));
    } catch (error) {
      return failedWith(error);
    }
  }
}
