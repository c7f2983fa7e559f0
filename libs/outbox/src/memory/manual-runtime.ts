import { realRuntime } from '../runtime/real-runtime.js';
import type { Runtime, Timer } from '../runtime/runtime.js';

interface PendingTimer {
  readonly dueAt: number;
  readonly callback: () => void;
}

/** A runtime whose clock moves only when a test advances it. */
export class ManualRuntime implements Runtime {
  readonly #timers = new Set<PendingTimer>();
  #now: number;
  #ids = 0;

  constructor(startAt = 1_767_225_600_000) {
    this.#now = startAt;
  }

  now(): number {
    return this.#now;
  }

  monotonic(): number {
    return this.#now;
  }

  setTimer(callback: () => void, delayMs: number): Timer {
    const timer = { dueAt: this.#now + Math.max(0, delayMs), callback };
    this.#timers.add(timer);
    return { cancel: () => void this.#timers.delete(timer) };
  }

  defer(callback: () => void): void {
    realRuntime.defer(callback);
  }

  /** Is always the middle, so that random delays have their mean. */
  random(): number {
    return 0.5;
  }

  uuid(): string {
    return `00000000-0000-4000-8000-${String(++this.#ids).padStart(12, '0')}`;
  }

  hostname(): string {
    return 'localhost';
  }

  /** Moves the clock, fires the timers that become due, and lets their work run. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await this.settle();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#timers.delete(next);
      this.#now = Math.max(this.#now, next.dueAt);
      next.callback();
      await this.settle();
    }
    this.#now = end;
    await this.settle();
  }

  /** Lets everything run that waits for no time. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 20; turn++) await new Promise<void>((resolve) => this.defer(resolve));
  }

  #next(end: number): PendingTimer | undefined {
    return [...this.#timers]
      .filter(({ dueAt }) => dueAt <= end)
      .sort((a, b) => a.dueAt - b.dueAt)[0];
  }
}
