import type { Runtime, Timer } from './runtime.js';

interface PendingTimer {
  readonly dueAt: number;
  readonly order: number;
  readonly callback: () => void;
}

export interface VirtualRuntimeOptions {
  /** The start time of the clock. Default 2026-01-01T00:00:00Z. */
  readonly startAt?: number;
  /** The seed of random numbers and ids: the same seed gives the same sequence. Default 1. */
  readonly seed?: number;
}

/** A clock that moves only when a test advances it. Timers fire in the order of their due time. */
export class VirtualRuntime implements Runtime {
  readonly #startedAt: number;
  readonly #timers = new Set<PendingTimer>();
  #elapsed = 0;
  #nextOrder = 0;
  #randomState: number;

  constructor({ startAt = 1_767_225_600_000, seed = 1 }: VirtualRuntimeOptions = {}) {
    this.#startedAt = startAt;
    this.#randomState = seed >>> 0;
  }

  /** Returns whole milliseconds, as the real clock does, although timers may be due in between. */
  now(): number {
    return Math.floor(this.#startedAt + this.#elapsed);
  }

  monotonic(): number {
    return this.#elapsed;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const timer = {
      dueAt: this.#elapsed + Math.max(delayMs, 0),
      order: this.#nextOrder++,
      callback,
    };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  defer(callback: () => void): void {
    setImmediate(callback);
  }

  /** Implements mulberry32: small, seedable, good enough for jitter. */
  random(): number {
    this.#randomState = (this.#randomState + 0x6d2b79f5) >>> 0;
    let mixed = this.#randomState;
    mixed = Math.imul(mixed ^ (mixed >>> 15), mixed | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  uuid(): string {
    const hex = Array.from({ length: 32 }, () => Math.floor(this.random() * 16).toString(16));
    hex[12] = '4';
    hex[16] = 'a';
    const text = hex.join('');
    return [8, 4, 4, 4, 12]
      .map((length, index, all) => {
        const from = all.slice(0, index).reduce((sum, part) => sum + part, 0);
        return text.slice(from, from + length);
      })
      .join('-');
  }

  hostname(): string {
    return 'virtual-host';
  }

  /** The number of pending timers: a test that ends with a pending timer has leaked it. */
  get pendingTimers(): number {
    return this.#timers.size;
  }

  /**
   * Advances the clock and fires the timers that become due. All promises that a timer resolves are
   * processed before the next timer.
   */
  async advance(milliseconds: number): Promise<void> {
    const until = this.#elapsed + milliseconds;
    await this.settle();
    for (let next = this.#nextBefore(until); next; next = this.#nextBefore(until)) {
      this.#timers.delete(next);
      this.#elapsed = Math.max(this.#elapsed, next.dueAt);
      next.callback();
      await this.settle();
    }
    this.#elapsed = until;
  }

  /**
   * Moves the clock without firing timers, as if the process had been suspended. Timers that became
   * due fire with the next `advance`.
   */
  suspend(milliseconds: number): void {
    this.#elapsed += milliseconds;
  }

  /** Lets promises and deferred callbacks run several times, without moving the clock. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 5; turn++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
    }
  }

  #nextBefore(until: number): PendingTimer | undefined {
    let next: PendingTimer | undefined;
    for (const timer of this.#timers) {
      if (timer.dueAt > until) continue;
      if (
        !next ||
        timer.dueAt < next.dueAt ||
        (timer.dueAt === next.dueAt && timer.order < next.order)
      )
        next = timer;
    }
    return next;
  }
}
