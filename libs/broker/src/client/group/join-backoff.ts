import { Backoff, sleep, type Runtime } from '../../runtime/index.js';
import type { RetryUrgency } from './retry-urgency.js';

const SOON = { initialMs: 100, maxMs: 2_000 };
const SLOWLY = { initialMs: 3_000, maxMs: 10_000 };

/**
 * The number of immediate retries in a row. A join needs two at most: for a new member id, and
 * after an id has become invalid. More retries are a loop.
 */
const AT_ONCE_IN_A_ROW = 3;

/**
 * The number of expected failures in a row after which they are reported, about two seconds after
 * the first one.
 */
const EXPECTED_IN_A_ROW = 5;

/** Delays between the attempts of one join. */
export class JoinBackoff {
  readonly #runtime: Runtime;
  readonly #soon: Backoff;
  readonly #slowly: Backoff;
  #atOnce = 0;
  #expectedFailures = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#soon = new Backoff(runtime, SOON);
    this.#slowly = new Backoff(runtime, SLOWLY);
  }

  /** Counts an expected failure. Returns whether such failures have lasted too long. */
  hasTooManyExpectedFailures(): boolean {
    return ++this.#expectedFailures > EXPECTED_IN_A_ROW;
  }

  async wait(urgency: RetryUrgency, signal: AbortSignal): Promise<void> {
    if (urgency === 'at-once' && this.#atOnce++ < AT_ONCE_IN_A_ROW) return;
    const backoff = urgency === 'slowly' ? this.#slowly : this.#soon;
    await sleep(this.#runtime, backoff.next(), signal);
  }
}
