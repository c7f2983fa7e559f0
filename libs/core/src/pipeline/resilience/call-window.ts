import type { CircuitFigures } from '../../model/states/circuit-breaker.js';

const FAILED = 1;
const SLOW = 2;

/** The results of the last calls in a ring, where the newest replaces the oldest. */
export class CallWindow {
  readonly #ring: Uint8Array;
  #next = 0;
  #calls = 0;
  #failures = 0;
  #slow = 0;

  constructor(readonly size: number) {
    this.#ring = new Uint8Array(size);
  }

  get figures(): CircuitFigures {
    return { calls: this.#calls, failures: this.#failures, slow: this.#slow };
  }

  get calls(): number {
    return this.#calls;
  }

  /**
   * Returns whether the failure rate is at least `percent`. A multiplication instead of a division,
   * so that nothing is rounded.
   */
  reachesFailureRate(percent: number): boolean {
    return this.#failures * 100 >= percent * this.#calls;
  }

  reachesSlowRate(percent: number): boolean {
    return this.#slow * 100 >= percent * this.#calls;
  }

  add(hasFailed: boolean, wasSlow: boolean): void {
    if (this.#calls === this.size) this.#removeOldest(this.#ring[this.#next] as number);
    else this.#calls++;
    this.#ring[this.#next] = (hasFailed ? FAILED : 0) | (wasSlow ? SLOW : 0);
    this.#next = this.#next + 1 === this.size ? 0 : this.#next + 1;
    if (hasFailed) this.#failures++;
    if (wasSlow) this.#slow++;
  }

  clear(): void {
    this.#ring.fill(0);
    this.#next = this.#calls = this.#failures = this.#slow = 0;
  }

  #removeOldest(call: number): void {
    if ((call & FAILED) !== 0) this.#failures--;
    if ((call & SLOW) !== 0) this.#slow--;
  }
}
