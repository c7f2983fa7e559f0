import { handedBack, isFinal, type Outcome } from '../model/outcome.js';
import { invokeBatch } from './batch-call.js';
import type { HandlerStep } from './handler-step.js';
import type { Prepared, ReadyRecord } from './preparation.js';
import { isPromiseLike } from './promise-like.js';

/**
 * A slice on its way through its handlers. A call in which a record fails or is handed back is the
 * last: what comes after is handed back too, so that the order is kept. A slice that begins with a
 * record that has failed before goes one by one, so that nobody pays for another's fault.
 */
export class SliceRun {
  readonly #prepared: readonly Prepared[];
  readonly #outcomes: Outcome[] = [];
  readonly #goesOneByOne: boolean;

  constructor(
    prepared: readonly Prepared[],
    private readonly step: HandlerStep,
  ) {
    this.#prepared = prepared;
    this.#goesOneByOne = prepared[0] !== undefined && hasFailedBefore(prepared[0]);
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
    return ready.length === 0 ? [] : this.step.invokeSlice(ready, invokeBatch);
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
    if (this.#goesOneByOne) return rest.slice(0, 1);
    const { handler } = rest.find(isReady) ?? {};
    const end = rest.findIndex((each) => !belongs(each, handler));
    return end === -1 ? rest : rest.slice(0, Math.max(end, 1));
  }

  #add(stretch: readonly Prepared[], outcomes: readonly Outcome[]): void {
    const ofReady = outcomes.values();
    const added = stretch.map((each) =>
      isReady(each) ? (ofReady.next().value ?? handedBack) : each,
    );
    this.#outcomes.push(...added);
    if (!added.every(isFinal)) this.#handBackTheRest();
  }

  #handBackTheRest(): void {
    while (this.#outcomes.length < this.#prepared.length) this.#outcomes.push(handedBack);
  }
}

function isReady(prepared: Prepared): prepared is ReadyRecord {
  return prepared.kind === 'ready';
}

function belongs(prepared: Prepared, handler: ReadyRecord['handler'] | undefined): boolean {
  return isReady(prepared) ? prepared.handler === handler : isFinal(prepared);
}

function hasFailedBefore(prepared: Prepared): boolean {
  if (!isReady(prepared)) return false;
  const { redeliveries, failures = redeliveries } = prepared.delivery;
  return failures > 0;
}
