/**
 * Share of maxPollIntervalMs that the calls of a slice may use. The remaining time is for the
 * running handler and for the commit.
 */
const SHARE_OF_MAX_POLL_INTERVAL = 0.7;

/** Decides whether a slice has taken so long that its unfinished records go into another one. */
export class PollIntervalSafetyValve {
  readonly #limitMs: number;

  constructor(maxPollIntervalMs: number) {
    this.#limitMs = maxPollIntervalMs * SHARE_OF_MAX_POLL_INTERVAL;
  }

  /** Returns whether a slice that started at this monotonic time has to end. */
  check(startedAt: number, now: number): boolean {
    return now - startedAt > this.#limitMs;
  }
}
