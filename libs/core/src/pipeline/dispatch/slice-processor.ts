import type { Delivery } from '../../model/outcomes/delivery.js';
import { handedBack, type Outcome, type RecordProcessor } from '../../model/outcomes/outcome.js';
import type { HandlerStep } from './handler-step.js';
import type { Prepared, Preparation } from './preparation.js';
import { isPromiseLike } from '../is-promise-like.js';
import type { PreparationRetry } from '../resilience/preparation-retry.js';
import { callNext, wholeSlice, type SliceRest } from './batch-segments.js';

/** Calls handlers of batches. Never throws. */
export class SliceProcessor implements RecordProcessor {
  /** What is left of slices, by the first record of it: that is not prepared twice. */
  readonly #rests = new WeakMap<Delivery, SliceRest>();

  constructor(
    private readonly preparation: Preparation,
    private readonly step: HandlerStep,
    private readonly retry: PreparationRetry,
  ) {}

  /** A slice of one. */
  process(delivery: Delivery): Outcome | Promise<Outcome> {
    const outcomes = this.processSlice([delivery]);
    return isPromiseLike(outcomes) ? firstLater(outcomes) : first(outcomes);
  }

  /** One call of a handler: for what is left of the slice it is asked again. */
  processSlice(slice: readonly Delivery[]): readonly Outcome[] | Promise<readonly Outcome[]> {
    const rest = slice[0] && this.#takeRest(slice[0]);
    if (rest?.prepared.length === slice.length) return this.#call(slice, rest);
    const prepared = slice.map((delivery) => this.#prepare(delivery));
    return isReady(prepared)
      ? this.#call(slice, wholeSlice(prepared))
      : this.#callLater(slice, prepared);
  }

  /** Once: who is delivered again, since its transaction came to nothing, is prepared anew. */
  #takeRest(delivery: Delivery): SliceRest | undefined {
    const rest = this.#rests.get(delivery);
    this.#rests.delete(delivery);
    return rest;
  }

  #call(
    slice: readonly Delivery[],
    rest: SliceRest,
  ): readonly Outcome[] | Promise<readonly Outcome[]> {
    const outcomes = callNext(rest, this.step);
    if (isPromiseLike(outcomes))
      return outcomes.then((settled) => this.#keepRest(slice, rest, settled));
    return this.#keepRest(slice, rest, outcomes);
  }

  #keepRest(
    slice: readonly Delivery[],
    { prepared, goesOneByOne }: SliceRest,
    outcomes: readonly Outcome[],
  ): readonly Outcome[] {
    const next = slice[outcomes.length];
    if (next) this.#rests.set(next, { prepared: prepared.slice(outcomes.length), goesOneByOne });
    return outcomes;
  }

  async #callLater(
    slice: readonly Delivery[],
    prepared: readonly (Prepared | Promise<Prepared>)[],
  ): Promise<readonly Outcome[]> {
    const ready = await Promise.all(
      prepared.map((each, index) => this.#prepareLater(slice[index]!, each)),
    );
    // That may take its time, and a pause promises that nothing reaches a handler after it.
    if (slice[0] && slice[0].isCancelled) return [];
    return this.#call(slice, wholeSlice(ready));
  }

  #prepare(delivery: Delivery): Prepared | Promise<Prepared> {
    try {
      return this.preparation.prepare(delivery);
    } catch (error) {
      return this.retry.retryAfter(error, delivery);
    }
  }

  async #prepareLater(
    delivery: Delivery,
    preparing: Prepared | Promise<Prepared>,
  ): Promise<Prepared> {
    try {
      return await preparing;
    } catch (error) {
      return this.retry.retryAfter(error, delivery);
    }
  }
}

function isReady(
  prepared: readonly (Prepared | Promise<Prepared>)[],
): prepared is readonly Prepared[] {
  return !prepared.some((each) => isPromiseLike(each));
}

function first([outcome = handedBack]: readonly Outcome[]): Outcome {
  return outcome;
}

async function firstLater(outcomes: PromiseLike<readonly Outcome[]>): Promise<Outcome> {
  return first(await outcomes);
}
