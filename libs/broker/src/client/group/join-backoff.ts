import { Backoff, sleep, type Runtime } from '../../runtime/index.js';
import type { RetryUrgency } from './retry-urgency.js';

const SOON = { initialMs: 100, maxMs: 2_000 };
const SLOWLY = { initialMs: 3_000, maxMs: 10_000 };

/** A join needs two answers of this kind (a member id, an id gone stale); a chain of them is a loop. */
const AT_ONCE_IN_A_ROW = 3;

/** Routine answers are worth a status when they go on; by then two seconds have passed. */
const EXPECTED_IN_A_ROW = 5;

/** How long to wait between the tries of one entry into the group. */
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

  /** Whether something that mends itself as a rule has gone on for too long. */
  hasTooManyExpectedFailures(): boolean {
    return ++this.#expectedFailures > EXPECTED_IN_A_ROW;
  }

  async wait(urgency: RetryUrgency, signal: AbortSignal): Promise<void> {
    if (urgency === 'at-once' && this.#atOnce++ < AT_ONCE_IN_A_ROW) return;
    const backoff = urgency === 'slowly' ? this.#slowly : this.#soon;
    await sleep(this.#runtime, backoff.next(), signal);
  }
}
