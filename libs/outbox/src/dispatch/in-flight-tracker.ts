import { positiveDuration } from '../errors/checks.js';
import { realRuntime } from '../runtime/real-runtime.js';
import type { Runtime } from '../runtime/runtime.js';

/** Prevents that an event is dispatched twice at the same time in this process. */
export interface InFlightTracker {
  /** Returns false if the event is being dispatched. */
  tryAcquire(eventId: string): boolean;
  release(eventId: string): void;
}

/** With a TTL, an entry that was never released can be acquired again after that time. */
export class DefaultInFlightTracker implements InFlightTracker {
  readonly #acquiredAt = new Map<string, number>();

  constructor(
    private readonly ttlMs?: number,
    private readonly clock: Pick<Runtime, 'now'> = realRuntime,
  ) {
    if (ttlMs !== undefined) positiveDuration('ttlMs', ttlMs);
  }

  tryAcquire(eventId: string): boolean {
    const acquiredAt = this.#acquiredAt.get(eventId);
    if (acquiredAt !== undefined && !this.#isStale(acquiredAt)) return false;
    this.#acquiredAt.set(eventId, this.clock.now());
    return true;
  }

  release(eventId: string): void {
    this.#acquiredAt.delete(eventId);
  }

  #isStale(acquiredAt: number): boolean {
    return this.ttlMs !== undefined && this.clock.now() - acquiredAt >= this.ttlMs;
  }
}
