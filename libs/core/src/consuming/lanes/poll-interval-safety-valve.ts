import type { Runtime } from '@nest-event-bus/broker/runtime';

/** Share of maxPollIntervalMs. The rest is for the running handler and for the commit. */
const SHARE_OF_MAX_POLL_INTERVAL = 0.7;

/** Decides whether a slice has taken so long that its remaining records go into another one. */
export class PollIntervalSafetyValve {
  readonly #limitMs: number;

  constructor(
    private readonly runtime: Pick<Runtime, 'monotonic'>,
    maxPollIntervalMs: number,
  ) {
    this.#limitMs = maxPollIntervalMs * SHARE_OF_MAX_POLL_INTERVAL;
  }

  /** Returns whether a slice that started at this monotonic time has to end. */
  check(startedAt: number): boolean {
    return this.runtime.monotonic() - startedAt > this.#limitMs;
  }
}
