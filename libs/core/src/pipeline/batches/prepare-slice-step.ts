import type { Delivery } from '../../model/outcomes/delivery.js';
import { handedBack, type Outcome } from '../../model/outcomes/outcome.js';
import { andThen, isPromiseLike } from '../and-then.js';
import type { PipelineStep, Prepared } from '../pipeline-step.js';
import type { Preparation } from '../preparation/preparation.js';
import type { RecordCall } from '../record-call.js';
import {
  callNext,
  handedBackAgain,
  wholeSlice,
  type PreparedRecord,
  type SliceRest,
} from './batch-segments.js';

/**
 * Prepares the records of a batch handler. Passes the first ones on, up to the first record of
 * another handler.
 */
export class PrepareSliceStep implements PipelineStep {
  /**
   * The records of a slice that were prepared but not handled yet, by their first record, so that
   * they are prepared only once. Records behind a failed one belong to them if the handler has not
   * read them.
   */
  readonly #rests = new WeakMap<Delivery, SliceRest>();

  constructor(
    private readonly next: PipelineStep,
    private readonly preparation: Preparation,
  ) {}

  /** Passes the record on as a slice of one. */
  process(call: RecordCall): Outcome | Promise<Outcome> {
    return andThen(this.processSlice([call]), firstOutcome, undefined);
  }

  /** Calls one handler once. The lane calls the step again for the later records of the slice. */
  processSlice(slice: readonly RecordCall[]): readonly Outcome[] | Promise<readonly Outcome[]> {
    const again = countFailedBefore(slice);
    const next = slice[again];
    const rest = next && this.#takeRest(next.delivery);
    if (again === 0 && rest?.records.length === slice.length) return this.#call(slice, rest);
    const kept = again + (rest?.records.length ?? 0) === slice.length ? (rest?.records ?? []) : [];
    const unprepared = kept.length === 0 ? slice : slice.slice(0, again);
    const prepared = unprepared.map((call) => this.#prepare(call));
    return areAllPrepared(prepared)
      ? this.#call(slice, wholeSlice([...recordsOf(unprepared, prepared), ...kept]))
      : this.#callLater(slice, prepared, kept);
  }

  /**
   * Removes and returns prepared records. A record whose transaction failed is prepared again when
   * it is redelivered.
   */
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
    const again = handedBackAgain(records, outcomes);
    const rest = [...again, ...records.slice(outcomes.length)];
    const next = slice[outcomes.length - again.length];
    if (next && rest.length > 0) this.#rests.set(next.delivery, { records: rest, goesOneByOne });
    return outcomes;
  }

  async #callLater(
    slice: readonly RecordCall[],
    pending: readonly (Prepared | Promise<Prepared>)[],
    kept: readonly PreparedRecord[],
  ): Promise<readonly Outcome[]> {
    const prepared = await Promise.all(
      pending.map((each, index) => this.#prepareLater(slice[index]!, each)),
    );
    // A pause may have begun during the preparation, and then no record may reach a handler.
    if (slice[0]?.delivery.isCancelled) return [];
    const records = recordsOf(slice.slice(0, prepared.length), prepared);
    return this.#call(slice, wholeSlice([...records, ...kept]));
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

/** Returns how many records at the beginning of the slice have failed in it, and are delivered again. */
function countFailedBefore(slice: readonly RecordCall[]): number {
  const index = slice.findIndex(({ delivery }) => delivery.history.failures === 0);
  return index === -1 ? slice.length : index;
}

function areAllPrepared(
  prepared: readonly (Prepared | Promise<Prepared>)[],
): prepared is readonly Prepared[] {
  return !prepared.some((each) => isPromiseLike(each));
}

function firstOutcome([outcome = handedBack]: readonly Outcome[]): Outcome {
  return outcome;
}
