import type { Runtime } from '@nest-event-bus/broker/runtime';

/** Of maxPollIntervalMs: the rest is for the handler that runs, and for the commit. */
const SHARE_OF_MAX_POLL_INTERVAL = 0.7;

/** Says when a slice has taken so long that what is left of it goes into another one. */
export class PollIntervalSafetyValve {
  readonly #limitMs: number;

  constructor(
    private readonly runtime: Pick<Runtime, 'monotonic'>,
    maxPollIntervalMs: number,
  ) {
    this.#limitMs = maxPollIntervalMs * SHARE_OF_MAX_POLL_INTERVAL;
  }

  /** Whether a slice that began then, by the monotonic clock, has to end. */
  check(startedAt: number): boolean {
    return this.runtime.monotonic() - startedAt > this.#limitMs;
  }
}
