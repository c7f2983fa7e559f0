import { Backoff, sleep, type Runtime } from '../../../runtime/index.js';
import type { Pace } from '../retry-urgency.js';

const SOON = { initialMs: 100, maxMs: 2_000 };
const SLOWLY = { initialMs: 3_000, maxMs: 10_000 };

/** A join needs two answers of this kind (a member id, an id gone stale); a chain of them is a loop. */
const AT_ONCE_IN_A_ROW = 3;

/** Routine answers are worth a status when they go on; by then two seconds have passed. */
const ROUTINE_IN_A_ROW = 5;

/** How long to wait between the tries of one entry into the group. */
export class Patience {
  readonly #runtime: Runtime;
  readonly #soon: Backoff;
  readonly #slowly: Backoff;
  #atOnce = 0;
  #routine = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
    this.#soon = new Backoff(runtime, SOON);
    this.#slowly = new Backoff(runtime, SLOWLY);
  }

  /** Whether something that mends itself as a rule has gone on for too long. */
  endsWithRoutine(): boolean {
    return ++this.#routine > ROUTINE_IN_A_ROW;
  }

  async wait(pace: Pace, signal: AbortSignal): Promise<void> {
    if (pace === 'at-once' && this.#atOnce++ < AT_ONCE_IN_A_ROW) return;
    const backoff = pace === 'slowly' ? this.#slowly : this.#soon;
    await sleep(this.#runtime, backoff.next(), signal);
  }
}
