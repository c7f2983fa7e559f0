import { handedBack, type Outcome } from '../model/outcome.js';
import { invokeBatch } from './batch-call.js';
import type { Prepared, ReadyRecord } from './preparation.js';
import { isPromiseLike } from './promise-like.js';
import type { ResilienceDecorator } from './resilience/resilience-decorator.js';

/**
 * A slice on its way through its handlers. The first record that fails or is handed back ends it:
 * what comes after is handed back too, so that the order is kept.
 */
export class SliceRun {
  readonly #prepared: readonly Prepared[];
  readonly #outcomes: Outcome[] = [];

  constructor(
    prepared: readonly Prepared[],
    private readonly resilience: ResilienceDecorator,
  ) {
    this.#prepared = prepared;
  }

  /** One outcome per record. A promise only where a handler gives one. */
  finish(): readonly Outcome[] | Promise<readonly Outcome[]> {
    while (this.#outcomes.length < this.#prepared.length) {
      const stretch = this.#nextStretch();
      const outcomes = this.#invoke(stretch.filter(isReady));
      if (isPromiseLike(outcomes)) return this.#finishLater(stretch, outcomes);
      this.#add(stretch, outcomes);
    }
    return this.#outcomes;
  }

  #invoke(ready: readonly ReadyRecord[]): readonly Outcome[] | Promise<readonly Outcome[]> {
    return ready.length === 0 ? [] : this.resilience.invokeSlice(ready, invokeBatch);
  }

  async #finishLater(
    stretch: readonly Prepared[],
    outcomes: PromiseLike<readonly Outcome[]>,
  ): Promise<readonly Outcome[]> {
    this.#add(stretch, await outcomes);
    return this.finish();
  }

  /** As far as one handler takes the records; those that are discarded do not part them. */
  #nextStretch(): readonly Prepared[] {
    const rest = this.#prepared.slice(this.#outcomes.length);
    const { handler } = rest.find(isReady) ?? {};
    const end = rest.findIndex((each) => !belongs(each, handler));
    return end === -1 ? rest : rest.slice(0, Math.max(end, 1));
  }

  #add(stretch: readonly Prepared[], outcomes: readonly Outcome[]): void {
    const ofReady = outcomes.values();
    for (const each of stretch) {
      const outcome = isReady(each) ? (ofReady.next().value ?? handedBack) : each;
      this.#outcomes.push(outcome);
      if (!letsPass(outcome)) return this.#handBackTheRest();
    }
  }

  #handBackTheRest(): void {
    while (this.#outcomes.length < this.#prepared.length) this.#outcomes.push(handedBack);
  }
}

function isReady(prepared: Prepared): prepared is ReadyRecord {
  return prepared.kind === 'ready';
}

function belongs(prepared: Prepared, handler: ReadyRecord['handler'] | undefined): boolean {
  return isReady(prepared) ? prepared.handler === handler : letsPass(prepared);
}

/** Whether the next record may have its turn. */
function letsPass(outcome: Outcome): boolean {
  return outcome.kind === 'succeeded' || outcome.kind === 'discarded';
}
