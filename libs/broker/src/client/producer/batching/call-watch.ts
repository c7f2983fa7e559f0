import { ownError } from '../../../port/error-text.js';
import type { Runtime, Timer } from '../../../runtime/index.js';
import type { SendCall } from '../send-call.js';

interface WatchedSignal {
  readonly calls: Set<SendCall>;
  readonly onAbort: () => void;
}

/**
 * Watches the deadlines and the abort signals of all calls without an outcome. All deadlines share
 * one timer, because most calls end long before. Calls with the same signal share one listener,
 * because Node.js reports many listeners of one signal as a possible leak.
 */
export class CallWatch {
  readonly calls = new Set<SendCall>();
  readonly #signals = new Map<AbortSignal, WatchedSignal>();
  #timer: Timer | undefined;
  #wakesAt = Number.POSITIVE_INFINITY;

  constructor(
    private readonly runtime: Runtime,
    /** Called after a signal has removed records from their batches. */
    private readonly onAbandoned: () => void,
  ) {}

  /**
   * Watches a call that has been queued. If its signal has already aborted, drops its records at
   * once.
   */
  add(call: SendCall, signal: AbortSignal | undefined): void {
    if (call.isSettled) return;
    this.calls.add(call);
    if (call.deadlineAt < this.#wakesAt) this.#wakeAt(call.deadlineAt);
    if (signal?.aborted) this.#abandon([call], signal);
    else if (signal) (this.#signals.get(signal) ?? this.#watchSignal(signal)).calls.add(call);
  }

  delete(call: SendCall, signal: AbortSignal | undefined): void {
    this.calls.delete(call);
    if (this.calls.size === 0) this.#sleep();
    const watched = signal && this.#signals.get(signal);
    if (!signal || !watched?.calls.delete(call) || watched.calls.size > 0) return;
    signal.removeEventListener('abort', watched.onAbort);
    this.#signals.delete(signal);
  }

  #wakeAt(time: number): void {
    this.#timer?.cancel();
    this.#wakesAt = time;
    this.#timer = this.runtime.setTimer(() => this.#sweep(), time - this.runtime.monotonic());
  }

  #sleep(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#wakesAt = Number.POSITIVE_INFINITY;
  }

  #sweep(): void {
    this.#sleep();
    const now = this.runtime.monotonic();
    let next = Number.POSITIVE_INFINITY;
    for (const call of this.calls) {
      if (call.deadlineAt <= now) call.expire();
      else next = Math.min(next, call.deadlineAt);
    }
    if (next < Number.POSITIVE_INFINITY) this.#wakeAt(next);
  }

  #watchSignal(signal: AbortSignal): WatchedSignal {
    const calls = new Set<SendCall>();
    const watched = { calls, onAbort: () => this.#abandon([...calls], signal) };
    signal.addEventListener('abort', watched.onAbort, { once: true });
    this.#signals.set(signal, watched);
    return watched;
  }

  #abandon(calls: readonly SendCall[], signal: AbortSignal): void {
    const reason: unknown = signal.reason;
    const error =
      reason instanceof Error
        ? reason
        : ownError(new Error('The send was aborted by its signal.'), reason);
    for (const call of calls) call.abandon(error);
    this.onAbandoned();
  }
}
