import { sleep, type Runtime } from '@nest-event-bus/broker/runtime';

/** The largest batch of one transaction. */
const MOST_PER_BATCH = 1_000;
/** With a rate, batches are so small that ten of them fill a second. */
const BATCHES_PER_SECOND = 10;

/** Limits how many letters per second a run replays, over all its partitions. */
export class ReplayRate {
  /** The largest number of letters of one batch. */
  readonly batchSize: number;
  #freeAt = 0;

  constructor(
    private readonly runtime: Runtime,
    /** Undefined for no limit. */
    private readonly perSecond: number | undefined,
  ) {
    const ofRate = Math.max(1, Math.floor((perSecond ?? Infinity) / BATCHES_PER_SECOND));
    this.batchSize = Math.min(MOST_PER_BATCH, ofRate);
  }

  /** Waits until so many letters may be replayed. Rejects when the signal aborts. */
  async take(letters: number, signal: AbortSignal): Promise<void> {
    if (this.perSecond === undefined) return;
    const now = this.runtime.monotonic();
    const startsAt = Math.max(now, this.#freeAt);
    this.#freeAt = startsAt + (letters * 1_000) / this.perSecond;
    if (startsAt > now) await sleep(this.runtime, startsAt - now, signal);
  }
}
