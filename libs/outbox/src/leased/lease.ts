import { errorName } from '../errors/describe-error.js';
import type { Timer } from '../runtime/runtime.js';
import { withConnection } from '../spi/sql-connection.js';
import type { LeasedRelayOptions } from './leased-options.js';

/**
 * The lease of one claim, as this process knows it. Its end is counted from before the request, so
 * that it is never later than the end that the database knows.
 */
export class Lease {
  #until: number;
  #timer: Timer | undefined;
  #isLost = false;

  constructor(
    readonly token: string,
    requestedAt: number,
    private readonly options: LeasedRelayOptions,
  ) {
    this.#until = requestedAt + options.leaseMs;
    this.#scheduleRenewal();
  }

  /** Says whether an event may be started: the lease is held for long enough. */
  get allowsStart(): boolean {
    return this.#left >= this.options.minLeaseLeftMs;
  }

  get isHeld(): boolean {
    return this.#left > 0;
  }

  /** The time for which the lease is held at least. */
  get leftMs(): number {
    return Math.max(0, this.#left);
  }

  /** Ends the renewals. */
  end(): void {
    this.#timer?.cancel();
    this.#isLost = true;
  }

  get #left(): number {
    return this.#isLost ? 0 : this.#until - this.options.runtime.monotonic();
  }

  #scheduleRenewal(): void {
    if (this.#isLost) return;
    this.#timer = this.options.runtime.setTimer(
      () => void this.#renew(),
      this.options.leaseMs / 3,
      { background: true },
    );
  }

  /**
   * A lease that has ended is never renewed: another claim may hold some of its events. The store
   * refuses that, too, because a renewal can arrive late.
   */
  async #renew(): Promise<void> {
    const { runtime, leaseMs, connectionProvider, outboxStore, logger } = this.options;
    if (!this.isHeld) return;
    const requestedAt = runtime.monotonic();
    try {
      const held = await withConnection(connectionProvider, (connection) =>
        outboxStore.renew(connection, this.token, leaseMs),
      );
      if (held > 0) this.#until = requestedAt + leaseMs;
    } catch (error) {
      logger.warn(
        `A lease of the outbox could not be renewed: ${errorName(error)}. Its events are not started after its end.`,
      );
    }
    this.#scheduleRenewal();
  }
}
