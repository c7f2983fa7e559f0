import { ExponentialBackoffRetryPolicy, type RetryPolicy } from '../dispatch/retry-policy.js';
import { errorName } from '../errors/describe-error.js';
import type { OutboxLogger } from '../spi/logger.js';
import type { Runtime } from '../runtime/runtime.js';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 30_000;

/** Keeps the relay from dispatching during an outage. After each pause, one event is tried. */
export class OutagePause {
  readonly #policy: RetryPolicy;
  #outages = 0;
  #until = 0;

  constructor(
    private readonly runtime: Pick<Runtime, 'monotonic' | 'random'>,
    private readonly logger: OutboxLogger,
  ) {
    this.#policy = new ExponentialBackoffRetryPolicy(FIRST_PAUSE_MS, LONGEST_PAUSE_MS, () =>
      runtime.random(),
    );
  }

  get leftMs(): number {
    return Math.max(0, this.#until - this.runtime.monotonic());
  }

  /** Says whether the last dispatch met an outage: the next one is a try with one event. */
  get isTrying(): boolean {
    return this.#outages > 0;
  }

  /** Begins a pause, or the next one if the outage goes on. During a pause it changes nothing. */
  begin(error: Error): void {
    if (this.leftMs > 0) return;
    this.#outages++;
    const delayMs = this.#policy.computeDelayMs(this.#outages);
    this.#until = this.runtime.monotonic() + delayMs;
    if (this.#outages === 1)
      this.logger.warn(
        `The outbox pauses, because its destination cannot be reached: ${errorName(error)}. No attempt is counted; one event is tried after each pause.`,
      );
  }

  end(): void {
    if (this.#outages === 0) return;
    this.#outages = 0;
    this.logger.log('The outbox goes on: its destination can be reached again.');
  }
}
