import { AsyncLocalStorage } from 'node:async_hooks';
import { ListenerInvoker } from '../dispatch/listener-invoker.js';
import { errorName } from '../errors/describe-error.js';
import type { ClaimedEvent } from '../model/outbox-event.js';
import type { Timer } from '../runtime/runtime.js';
import { withConnection } from '../spi/sql-connection.js';
import { ClaimRun } from './claim-run.js';
import { Completer } from './completer.js';
import { Lease } from './lease.js';
import { checkLeasedOptions, type LeasedRelayOptions } from './leased-options.js';
import { OutagePause } from './outage-pause.js';

/** The longest wait of an event that is free before the claim with the earlier one of its key ends. */
const FREED_KEYS_MS = 200;

/** Retries that become due within this time of each other share one claim. */
const RETRY_STEP_MS = 100;

/**
 * Leases events in batches, dispatches them and stores their outcomes. Several relays, in one or in
 * many processes, may work on one table. `wake()` after a commit makes them start at once.
 */
export class LeasedRelay {
  readonly #invoker: ListenerInvoker;
  readonly #pause: OutagePause;
  readonly #outsideRequests = AsyncLocalStorage.snapshot();
  readonly #cycles = new Set<Promise<unknown>>();
  #isOpen = false;
  #isWoken = false;
  /** The last claim was not full: the claims in work may have kept later events of their keys back. */
  #hasFoundFew = false;
  /** When retries before the next poll become due, in steps. */
  readonly #retriesAt = new Set<number>();
  #freedTimer: Timer | undefined;
  #timer: Timer | undefined;
  #dueAt = Infinity;
  #closing: Promise<void> | undefined;

  constructor(private readonly options: LeasedRelayOptions) {
    checkLeasedOptions(options);
    const { listenerRegistry, interceptors, logger, runtime } = options;
    this.#invoker = new ListenerInvoker(listenerRegistry, interceptors, logger);
    this.#pause = new OutagePause(runtime, logger);
  }

  start(): void {
    if (this.#closing) return;
    this.#isOpen = true;
    this.wake();
  }

  /** Looks for events now, or at the end of a cycle if all workers are busy. */
  wake(): void {
    if (!this.#isOpen) return;
    if (this.#pause.leftMs > 0) return this.#wakeIn(this.#pause.leftMs);
    if (this.#cycles.size >= this.#workers) {
      this.#isWoken = true;
      return;
    }
    const cycle = this.#outsideRequests(() => this.#runCycle());
    this.#cycles.add(cycle);
    void cycle.then((found) => this.#afterCycle(cycle, found));
  }

  /** The number of claims in work. */
  get activeClaims(): number {
    return this.#cycles.size;
  }

  /** Starts no more events and waits for those in work, at most for `drainTimeoutMs`. */
  close(): Promise<void> {
    return (this.#closing ??= this.#drain());
  }

  /** After an outage, one worker tries one event. */
  get #workers(): number {
    return this.#pause.isTrying ? 1 : this.options.workerCount;
  }

  /** A claim that has ended may have kept later events of its keys back. */
  #afterCycle(cycle: Promise<unknown>, foundEvents: boolean): void {
    this.#cycles.delete(cycle);
    this.#wakeIn(this.#pause.leftMs || this.options.intervalMs);
    if (!this.#isWoken && !foundEvents) return;
    this.#isWoken = false;
    this.wake();
  }

  /** Returns whether it found events. Never rejects. */
  async #runCycle(): Promise<boolean> {
    const { logger, intervalMs } = this.options;
    try {
      return await this.#dispatchBatch();
    } catch (error) {
      logger.error(
        `The outbox could not lease events: ${errorName(error)}. The next try starts in ${intervalMs} ms.`,
      );
      return false;
    }
  }

  async #dispatchBatch(): Promise<boolean> {
    const { connectionProvider, outboxStore, runtime, order, leaseMs, batchSize } = this.options;
    const token = runtime.uuid();
    const limit = this.#pause.isTrying ? 1 : batchSize;
    const requestedAt = runtime.monotonic();
    const rows = await withConnection(connectionProvider, (connection) =>
      outboxStore.lease(connection, { token, leaseMs, limit, order }),
    );
    this.#recordLag(rows);
    this.#hasFoundFew = rows.length < limit;
    if (rows.length === 0) return false;
    if (rows.length >= limit) this.wake();
    await this.#dispatch(rows, new Lease(token, requestedAt, this.options));
    return true;
  }

  async #dispatch(rows: readonly ClaimedEvent[], lease: Lease): Promise<void> {
    const completer = new Completer(
      lease,
      this.options,
      (delayMs) => this.#wakeForRetry(delayMs),
      () => this.#wakeForFreedKeys(),
    );
    const isOpen = (): boolean => this.#isOpen;
    const { options } = this;
    try {
      await new ClaimRun(options, this.#invoker, lease, completer, this.#pause, isOpen).run(rows);
    } finally {
      lease.end();
    }
  }

  #recordLag(rows: readonly ClaimedEvent[]): void {
    const now = this.options.runtime.now();
    const lag = rows.reduce((longest, { createdAt }) => Math.max(longest, now - createdAt), 0);
    this.options.metrics.recordOldestLagMs(lag);
  }

  /** A poll finds a retry with a longer delay soon after its time. */
  #wakeForRetry(delayMs: number): void {
    const { runtime, intervalMs } = this.options;
    const dueAt = runtime.monotonic() + delayMs;
    if (delayMs <= intervalMs)
      this.#retriesAt.add(Math.ceil(dueAt / RETRY_STEP_MS) * RETRY_STEP_MS);
    this.#wakeIn(delayMs);
  }

  #wakeForLaterRetries(): void {
    const now = this.options.runtime.monotonic();
    for (const at of this.#retriesAt) if (at <= now) this.#retriesAt.delete(at);
    if (this.#retriesAt.size > 0) this.#wakeIn(Math.min(...this.#retriesAt) - now);
  }

  /** Has a timer of its own, which never replaces the one of a retry. */
  #wakeForFreedKeys(): void {
    if (!this.#isOpen || !this.#hasFoundFew || this.#freedTimer) return;
    this.#freedTimer = this.options.runtime.setTimer(
      () => {
        this.#freedTimer = undefined;
        this.wake();
      },
      FREED_KEYS_MS,
      { background: true },
    );
  }

  /** Keeps the earliest of all times at which something is due. */
  #wakeIn(delayMs: number): void {
    const { runtime } = this.options;
    const dueAt = runtime.monotonic() + delayMs;
    if (!this.#isOpen || dueAt >= this.#dueAt) return;
    this.#timer?.cancel();
    this.#dueAt = dueAt;
    this.#timer = runtime.setTimer(
      () => {
        this.#dueAt = Infinity;
        this.#wakeForLaterRetries();
        this.wake();
      },
      delayMs,
      { background: true },
    );
  }

  async #drain(): Promise<void> {
    this.#isOpen = false;
    this.#timer?.cancel();
    this.#freedTimer?.cancel();
    const { runtime, drainTimeoutMs, logger } = this.options;
    if (this.#cycles.size === 0) return;
    const isDrained = await new Promise<boolean>((resolve) => {
      const timer = runtime.setTimer(() => resolve(false), drainTimeoutMs, { background: true });
      void Promise.all(this.#cycles).then(() => {
        timer.cancel();
        resolve(true);
      });
    });
    if (!isDrained)
      logger.warn(
        `The outbox closed after ${drainTimeoutMs} ms with ${this.#cycles.size} claims in work. Their events are dispatched again after their lease.`,
      );
  }
}
