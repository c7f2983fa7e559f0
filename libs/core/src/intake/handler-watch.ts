import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import type { Lanes } from './lanes.js';
import type { PartitionLane } from './partition-lane.js';

export interface HandlerWatchParts {
  readonly lanes: Lanes;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  readonly maxPollIntervalMs: number;
}

/**
 * Tells once of each handler that runs for longer than maxPollIntervalMs. A session that is paused
 * or has nothing to do runs no handler, and so is never told of.
 */
export class HandlerWatch {
  #timer: Timer | undefined;
  #isClosed = false;

  constructor(private readonly parts: HandlerWatchParts) {}

  /** A handler has begun to run; it is cheap to say so for each. */
  arm(): void {
    if (this.#timer || this.#isClosed) return;
    this.#wait(this.parts.maxPollIntervalMs);
  }

  /** When the oldest handler that runs began, in milliseconds since 1970. */
  get oldestSince(): number | undefined {
    const { lanes, runtime } = this.parts;
    const started = lanes.withHandlers.map((lane) => lane.runningSince ?? Infinity);
    if (started.length === 0) return undefined;
    return runtime.now() - Math.round(runtime.monotonic() - Math.min(...started));
  }

  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
  }

  #wait(delayMs: number): void {
    this.#timer = this.parts.runtime.setTimer(() => this.#look(), delayMs, { background: true });
  }

  #look(): void {
    this.#timer = undefined;
    const { lanes, runtime, maxPollIntervalMs } = this.parts;
    const now = runtime.monotonic();
    let next = Infinity;
    for (const lane of lanes.withHandlers) {
      const rest = (lane.runningSince ?? now) + maxPollIntervalMs - now;
      if (rest > 0) next = Math.min(next, rest);
      else this.#report(lane, maxPollIntervalMs - rest);
    }
    if (next < Infinity) this.#wait(next);
  }

  #report(lane: PartitionLane, runningMs: number): void {
    const told = lane.running.filter((delivery) => !delivery.isReported);
    const [first] = told;
    if (!first) return;
    for (const delivery of told) delivery.isReported = true;
    const { topic, partition, offset } = first.record;
    this.parts.logger.warn(
      'A handler runs for longer than maxPollIntervalMs; its partition waits for it. Let it give up in time, or raise maxPollIntervalMs.',
      { topic, partition, offset, records: told.length, runningMs: Math.round(runningMs) },
    );
  }
}
