import type { Delivery } from '../../model/outcomes/delivery.js';
import { handedBack, type Outcome } from '../../model/outcomes/outcome.js';
import { andThen, isPromiseLike } from '../and-then.js';
import type { PipelineStep, Prepared } from '../pipeline-step.js';
import type { Preparation } from '../preparation/preparation.js';
import type { RecordCall } from '../record-call.js';
import { callNext, wholeSlice, type PreparedRecord, type SliceRest } from './batch-segments.js';

/** Prepares the records of a batch handler. Passes on the first ones, as far as one handler takes them. */
export class PrepareSliceStep implements PipelineStep {
  /** The records that are left of a slice, by its first record. They are not prepared twice. */
  readonly #rests = new WeakMap<Delivery, SliceRest>();

  constructor(
    private readonly next: PipelineStep,
    private readonly preparation: Preparation,
  ) {}

  /** Passes the record on as a slice of one. */
  process(call: RecordCall): Outcome | Promise<Outcome> {
    return andThen(this.processSlice([call]), firstOutcome, undefined);
  }

  /** Makes one call of a handler. For the rest of the slice the step is called again. */
  processSlice(slice: readonly RecordCall[]): readonly Outcome[] | Promise<readonly Outcome[]> {
    const rest = slice[0] && this.#takeRest(slice[0].delivery);
    if (rest?.records.length === slice.length) return this.#call(slice, rest);
    const prepared = slice.map((call) => this.#prepare(call));
    return areAllPrepared(prepared)
      ? this.#call(slice, wholeSlice(recordsOf(slice, prepared)))
      : this.#callLater(slice, prepared);
  }

  /** Takes a rest once: a record that is delivered again, because its transaction failed, is prepared anew. */
  #takeRest(delivery: Delivery): SliceRest | undefined {
    const rest = this.#rests.get(delivery);
    this.#rests.delete(delivery);
    return rest;
  }

  #call(
    slice: readonly RecordCall[],
    rest: SliceRest,
  ): readonly Outcome[] | Promise<readonly Outcome[]> {
    return andThen(
      callNext(rest, this.next),
      (outcomes) => this.#keepRest(slice, rest, outcomes),
      undefined,
    );
  }

  #keepRest(
    slice: readonly RecordCall[],
    { records, goesOneByOne }: SliceRest,
    outcomes: readonly Outcome[],
  ): readonly Outcome[] {
    const next = slice[outcomes.length];
    if (next)
      this.#rests.set(next.delivery, { records: records.slice(outcomes.length), goesOneByOne });
    return outcomes;
  }

  async #callLater(
    slice: readonly RecordCall[],
    pending: readonly (Prepared | Promise<Prepared>)[],
  ): Promise<readonly Outcome[]> {
    const prepared = await Promise.all(
      pending.map((each, index) => this.#prepareLater(slice[index]!, each)),
    );
    // The preparation took time. After a pause no record may reach a handler.
    if (slice[0]?.delivery.isCancelled) return [];
    return this.#call(slice, wholeSlice(recordsOf(slice, prepared)));
  }

  #prepare(call: RecordCall): Prepared | Promise<Prepared> {
    try {
      return this.preparation.prepare(call);
    } catch (error) {
      return this.preparation.prepareAgain(error, call);
    }
  }

  async #prepareLater(call: RecordCall, pending: Prepared | Promise<Prepared>): Promise<Prepared> {
    try {
      return await pending;
    } catch (error) {
      return this.preparation.prepareAgain(error, call);
    }
  }
}

function recordsOf(
  slice: readonly RecordCall[],
  prepared: readonly Prepared[],
): readonly PreparedRecord[] {
  return slice.map((call, index) => ({ call, outcome: prepared[index] }));
}

function areAllPrepared(
  prepared: readonly (Prepared | Promise<Prepared>)[],
): prepared is readonly Prepared[] {
  return !prepared.some((each) => isPromiseLike(each));
}

function firstOutcome([outcome = handedBack]: readonly Outcome[]): Outcome {
  return outcome;
}
