import { errorName } from '../errors/describe-error.js';
import type { EventOutcome } from '../spi/leased-outbox-store.js';
import { withConnection } from '../spi/sql-connection.js';
import type { Lease } from './lease.js';
import type { LeasedRelayOptions } from './leased-options.js';

/** How long the first outcome waits for others. */
const FLUSH_MS = 25;
const RETRY_MS = 500;

/**
 * Stores the outcomes of one claim, many in one call. Its backlog has at most as many outcomes as
 * the claim has events.
 */
export class Completer {
  #outcomes: EventOutcome[] = [];
  #flushing: Promise<void> | undefined;
  #isScheduled = false;

  constructor(
    private readonly lease: Lease,
    private readonly options: LeasedRelayOptions,
    /** Called when an event that must wait is stored. */
    private readonly onDelayed: (delayMs: number) => void,
    /** Called when outcomes are stored while other events of the claim are still in work. */
    private readonly onStored: () => void,
  ) {}

  add(outcome: EventOutcome): void {
    this.#outcomes.push(outcome);
    if (this.#isScheduled || this.#flushing) return;
    this.#isScheduled = true;
    this.options.runtime.setTimer(
      () => {
        this.#isScheduled = false;
        void this.flush().then(this.onStored);
      },
      FLUSH_MS,
      { background: true },
    );
  }

  /** Returns when all outcomes are stored, or cannot be stored any more. */
  async flush(): Promise<void> {
    while (this.#flushing || this.#outcomes.length > 0)
      await (this.#flushing ??= this.#store(this.#outcomes.splice(0)).finally(
        () => (this.#flushing = undefined),
      ));
  }

  async #store(outcomes: readonly EventOutcome[]): Promise<void> {
    const { connectionProvider, outboxStore, logger, runtime } = this.options;
    for (;;)
      try {
        const changed = await withConnection(connectionProvider, (connection) =>
          outboxStore.complete(connection, this.lease.token, outcomes),
        );
        this.#report(outcomes, new Set(changed));
        return;
      } catch (error) {
        if (!this.lease.isHeld) {
          logger.error(
            `The results of ${outcomes.length} events could not be stored before the lease ended: ${errorName(error)}. The events are dispatched again.`,
          );
          return;
        }
        await new Promise<void>((resolve) => runtime.setTimer(resolve, RETRY_MS));
      }
  }

  #report(outcomes: readonly EventOutcome[], changed: ReadonlySet<string>): void {
    for (const outcome of outcomes) {
      if (!changed.has(outcome.eventId)) continue;
      this.#count(outcome);
      if ('delayMs' in outcome && outcome.delayMs > 0) this.onDelayed(outcome.delayMs);
    }
    const late = outcomes.length - changed.size;
    if (late > 0)
      this.options.logger.warn(
        `The results of ${late} events came after the end of their lease and changed nothing. Another claim dispatches these events. Use a longer leaseMs if this happens often.`,
      );
  }

  /** The result is stored, so an exporter that throws must not store it again. */
  #count({ kind }: EventOutcome): void {
    const { metrics, logger } = this.options;
    try {
      if (kind === 'done') metrics.incrementDispatchSuccess();
      if (kind === 'retry') metrics.incrementDispatchFailure();
      if (kind === 'dead') metrics.incrementDispatchDead();
    } catch (error) {
      logger.error(
        `The metrics exporter of the outbox failed: ${errorName(error)}. Events are not affected, their figures are missing.`,
      );
    }
  }
}
