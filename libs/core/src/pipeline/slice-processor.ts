import type { Delivery } from '../model/delivery.js';
import type { Outcome, RecordProcessor } from '../model/outcome.js';
import type { HandlerStep } from './handler-step.js';
import type { Prepared, Preparation } from './preparation.js';
import { isPromiseLike } from './promise-like.js';
import { SliceRun } from './slice-run.js';
import { failedWith } from './thrown-error.js';

/** Calls handlers of batches. Never throws. */
export class SliceProcessor implements RecordProcessor {
  constructor(
    private readonly preparation: Preparation,
    private readonly step: HandlerStep,
  ) {}

  /** A slice of one. */
  process(delivery: Delivery): Outcome | Promise<Outcome> {
    const outcomes = this.processSlice([delivery]);
    return isPromiseLike(outcomes) ? firstLater(outcomes) : first(outcomes);
  }

  processSlice(slice: readonly Delivery[]): readonly Outcome[] | Promise<readonly Outcome[]> {
    const prepared = slice.map((delivery) => this.#prepare(delivery));
    return isReady(prepared) ? this.#finish(prepared) : this.#finishLater(prepared);
  }

  #finish(prepared: readonly Prepared[]): readonly Outcome[] | Promise<readonly Outcome[]> {
    return new SliceRun(prepared, this.step).finish();
  }

  async #finishLater(
    prepared: readonly (Prepared | Promise<Prepared>)[],
  ): Promise<readonly Outcome[]> {
    return this.#finish(await Promise.all(prepared.map(async (each) => each)));
  }

  #prepare(delivery: Delivery): Prepared | Promise<Prepared> {
    try {
      const prepared = this.preparation.prepare(delivery);
      return isPromiseLike(prepared) ? prepared.catch(failedWith) : prepared;
    } catch (error) {
      return failedWith(error);
    }
  }
}

function isReady(
  prepared: readonly (Prepared | Promise<Prepared>)[],
): prepared is readonly Prepared[] {
  return !prepared.some((each) => isPromiseLike(each));
}

function first([outcome]: readonly Outcome[]): Outcome {
  return outcome!;
}

async function firstLater(outcomes: PromiseLike<readonly Outcome[]>): Promise<Outcome> {
  return first(await outcomes);
}
