import { AsyncLocalStorage } from 'node:async_hooks';
import { duration, positiveDuration, positiveInteger } from '../errors/checks.js';
import { errorName, errorText } from '../errors/describe-error.js';
import type { EventEnvelope } from '../model/event-envelope.js';
import type { OutboxEvent } from '../model/outbox-event.js';
import { logSevere } from '../spi/logger.js';
import { withConnection } from '../spi/sql-connection.js';
import { Schedule } from '../util/schedule.js';
import { decodeEvent } from './decode-event.js';
import { OutboxPollerBuilder } from './outbox-poller-builder.js';
import type { OutboxPollerOptions } from './poller-options.js';

/** Reads events that nobody has dispatched from the table, at an interval. */
export class OutboxPoller {
  readonly #schedule: Schedule;
  readonly #pollOutsideRequests: () => Promise<void>;
  #cycle: Promise<void> | undefined;
  #isWoken = false;
  #isClosed = false;

  constructor(private readonly options: OutboxPollerOptions) {
    const { batchSize, intervalMs, skipRecentMs, claimLocking } = options;
    positiveInteger('batchSize', batchSize);
    positiveDuration('intervalMs', intervalMs);
    duration('skipRecentMs', skipRecentMs);
    if (claimLocking) positiveDuration('claimLocking timeout', claimLocking.timeoutMs);
    const outsideRequests = AsyncLocalStorage.snapshot();
    this.#pollOutsideRequests = () => outsideRequests(() => this.poll());
    this.#schedule = new Schedule('The poller', options.runtime, intervalMs, () =>
      this.#pollOutsideRequests(),
    );
  }

  static builder(): OutboxPollerBuilder<OutboxPoller> {
    return new OutboxPollerBuilder((options) => new OutboxPoller(options));
  }

  /** Polls now and then at each interval. */
  start(): void {
    this.#schedule.start();
  }

  /** Runs one cycle. During a cycle, it returns the result of that cycle. Never rejects. */
  poll(): Promise<void> {
    return (this.#cycle ??= this.#runCycle().finally(() => this.#endCycle()));
  }

  /** Polls now, or again at the end of the cycle that runs, which may have read the table before. */
  wake(): void {
    if (this.#isClosed) return;
    if (this.#cycle) this.#isWoken = true;
    else void this.#pollOutsideRequests();
  }

  /** Starts no more cycles and waits for the one that is running. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#schedule.stop();
    await this.#cycle;
  }

  #endCycle(): void {
    this.#cycle = undefined;
    if (!this.#isWoken) return;
    this.#isWoken = false;
    this.wake();
  }

  async #runCycle(): Promise<void> {
    try {
      const capacity = this.options.handler.availableCapacity?.() ?? Number.MAX_SAFE_INTEGER;
      if (capacity <= 0) return;
      const limit = Math.min(this.options.batchSize, capacity);
      const rows = await withConnection(this.options.connectionProvider, (connection) =>
        this.#read(connection, limit),
      );
      this.#recordLag(rows);
      await this.#deliver(rows);
    } catch (error) {
      this.options.logger.error(
        `A poll of the outbox failed: ${errorName(error)}. The next one starts in ${this.options.intervalMs} ms.`,
      );
    }
  }

  #read(connection: object, limit: number): Promise<readonly OutboxEvent[]> {
    const { outboxStore, runtime, skipRecentMs, claimLocking } = this.options;
    const now = runtime.now();
    if (!claimLocking) return outboxStore.pollPending(connection, now, skipRecentMs, limit);
    const { ownerId, timeoutMs } = claimLocking;
    return outboxStore.claimPending(connection, ownerId, now, now - timeoutMs, skipRecentMs, limit);
  }

  async #deliver(rows: readonly OutboxEvent[]): Promise<void> {
    for (const row of rows) {
      const event = await this.#decode(row);
      if (event && !(await this.options.handler.handle(event, row.attempts))) return;
    }
  }

  async #decode(row: OutboxEvent): Promise<EventEnvelope | undefined> {
    const { connectionProvider, outboxStore, jsonCodec, logger, metrics } = this.options;
    try {
      return decodeEvent(row, jsonCodec);
    } catch (error) {
      await withConnection(connectionProvider, (connection) =>
        outboxStore.markDead(connection, row.eventId, errorText(error)),
      );
      metrics.incrementDispatchDead();
      logSevere(
        logger,
        `SEVERE: event ${row.eventId} cannot be decoded and is DEAD: ${errorName(error)}. Correct its row, then replay it.`,
      );
      return undefined;
    }
  }

  #recordLag(rows: readonly OutboxEvent[]): void {
    const now = this.options.runtime.now();
    const lags = rows.map(({ createdAt }) => now - createdAt);
    this.options.metrics.recordOldestLagMs(Math.max(0, ...lags));
  }
}
