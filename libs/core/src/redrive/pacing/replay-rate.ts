import { sleep, type Runtime } from '@nest-event-bus/broker/runtime';

/** The largest batch of one transaction. */
const MOST_PER_BATCH = 1_000;
/** With a rate, batches are so small that ten of them fill a second. */
const BATCHES_PER_SECOND = 10;
/** A run that was held up catches up with at most this much time. */
const CATCH_UP_MS = 1_000;

/** Limits how many letters per second a run replays, over all its partitions. */
export class ReplayRate {
  #perSecond: number | undefined;
  #freeAt: number;

  constructor(
    private readonly runtime: Runtime,
    /** Undefined for no limit. */
    perSecond: number | undefined,
  ) {
    this.#perSecond = perSecond;
    this.#freeAt = runtime.monotonic();
  }

  get perSecond(): number | undefined {
    return this.#perSecond;
  }

  /** The largest number of letters of one batch. */
  get batchSize(): number {
    const ofRate = Math.max(1, Math.floor((this.#perSecond ?? Infinity) / BATCHES_PER_SECOND));
    return Math.min(MOST_PER_BATCH, ofRate);
  }

  /** Changes the limit from now on. */
  set(perSecond: number): void {
    this.#perSecond = perSecond;
    this.#freeAt = Math.min(this.#freeAt, this.runtime.monotonic() + 1_000 / perSecond);
  }

  /** Waits until so many letters may be replayed. Rejects when the signal aborts. */
  async take(letters: number, signal: AbortSignal): Promise<void> {
    if (this.#perSecond === undefined) return;
    const now = this.runtime.monotonic();
    const startsAt = Math.max(now - CATCH_UP_MS, this.#freeAt);
    this.#freeAt = startsAt + (letters * 1_000) / this.#perSecond;
    if (startsAt > now) await sleep(this.runtime, startsAt - now, signal);
  }
}
