import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { LaneDelivery } from '../lanes/lane-delivery.js';
import type { Lanes } from '../lanes/lanes.js';

export interface HandlerWatchParts {
  readonly lanes: Lanes;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  readonly stuckHandlerMs: number;
  readonly maxPollIntervalMs: number;
  /** Called with handlers of owned partitions that exceed maxPollIntervalMs. */
  onOverdue(deliveries: readonly LaneDelivery[]): void;
}

interface Limit {
  readonly afterMs: number;
  readonly message: string;
}

/**
 * Reports each handler once when it exceeds stuckHandlerMs, and once more when it exceeds
 * maxPollIntervalMs: then its assignment is to end. A paused or idle session runs no handler, so
 * nothing is reported.
 */
export class HandlerWatch {
  readonly #limits: readonly Limit[];
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(private readonly parts: HandlerWatchParts) {
    const { stuckHandlerMs, maxPollIntervalMs } = parts;
    const limits: readonly Limit[] = [
      {
        afterMs: stuckHandlerMs,
        message:
          'A handler seems to be stuck: it runs for longer than stuckHandlerMs. Its records wait for it; let it give up in time, or raise stuckHandlerMs.',
      },
      {
        afterMs: maxPollIntervalMs,
        message:
          'A handler runs for longer than maxPollIntervalMs; its record is delivered again. Let it give up in time, or raise maxPollIntervalMs.',
      },
    ];
    this.#limits = stuckHandlerMs < maxPollIntervalMs ? limits : limits.slice(1);
  }

  /**
   * Starts the watch when a handler begins to run. The call is cheap enough to be made for each
   * handler.
   */
  arm(): void {
    if (this.#timer || this.#isClosed) return;
    this.#schedule(this.#firstLimitMs);
  }

  /** Start of the oldest running handler, in milliseconds since 1970. */
  get oldestSince(): number | undefined {
    const { lanes, runtime } = this.parts;
    const now = runtime.monotonic();
    const running = lanes.running.map(({ startedAt = now }) => startedAt);
    if (running.length === 0) return undefined;
    return runtime.now() - Math.round(now - Math.min(...running));
  }

  /** Number of handlers that exceed the first limit. */
  get stuck(): number {
    const latest = this.parts.runtime.monotonic() - this.#firstLimitMs;
    return this.#handlers.filter(({ startedAt = Infinity }) => startedAt <= latest).length;
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  /** Running handlers, each by its first record. */
  get #handlers(): readonly LaneDelivery[] {
    return this.parts.lanes.running.filter(({ records }) => records > 0);
  }

  get #firstLimitMs(): number {
    return (this.#limits[0] as Limit).afterMs;
  }

  #schedule(delayMs: number): void {
    this.#timer = this.parts.runtime.setTimer(() => this.#check(), delayMs, { background: true });
  }

  #check(): void {
    this.#timer = undefined;
    const now = this.parts.runtime.monotonic();
    let next = Infinity;
    for (const delivery of this.#handlers) {
      const runningMs = now - (delivery.startedAt ?? now);
      const passed = this.#limits.filter(({ afterMs }) => runningMs >= afterMs);
      this.#report(delivery, passed, runningMs);
      const following = this.#limits[passed.length];
      if (following) next = Math.min(next, following.afterMs - runningMs);
    }
    if (next < Infinity) this.#schedule(next);
    const latest = now - this.parts.maxPollIntervalMs;
    const overdue = this.parts.lanes.current.filter(({ startedAt = now }) => startedAt <= latest);
    if (overdue.length > 0) this.parts.onOverdue(overdue);
  }

  #report(delivery: LaneDelivery, passed: readonly Limit[], runningMs: number): void {
    const last = passed.at(-1);
    if (!last || delivery.reports >= passed.length) return;
    delivery.reports = passed.length;
    const { record, records } = delivery;
    const { topic, partition, offset } = record;
    const context = { topic, partition, offset, records, runningMs: Math.round(runningMs) };
    this.parts.logger.warn(last.message, context);
  }
}
