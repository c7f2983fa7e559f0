import { ownError } from '../../port/error-text.js';
import type { SendCall } from './send-call.js';

interface WatchedSignal {
  readonly calls: Set<SendCall>;
  readonly onAbort: () => void;
}

/**
 * Watches the abort signals of all calls. Calls that share a signal also share one listener,
 * because Node.js reports many listeners of one signal as a possible leak.
 */
export class AbortWatch {
  readonly #signals = new Map<AbortSignal, WatchedSignal>();

  constructor(private readonly onAbandoned: () => void) {}

  /**
   * Drops the records of the call when the signal aborts, or at once if the signal has already
   * aborted.
   */
  add(signal: AbortSignal, call: SendCall): void {
    if (signal.aborted) return this.#abandon([call], signal);
    const watched = this.#signals.get(signal) ?? this.#watch(signal);
    watched.calls.add(call);
  }

  delete(signal: AbortSignal, call: SendCall): void {
    const watched = this.#signals.get(signal);
    if (!watched?.calls.delete(call) || watched.calls.size > 0) return;
    signal.removeEventListener('abort', watched.onAbort);
    this.#signals.delete(signal);
  }

  #watch(signal: AbortSignal): WatchedSignal {
    const calls = new Set<SendCall>();
    const watched = { calls, onAbort: () => this.#abandon([...calls], signal) };
    signal.addEventListener('abort', watched.onAbort, { once: true });
    this.#signals.set(signal, watched);
    return watched;
  }

  #abandon(calls: readonly SendCall[], signal: AbortSignal): void {
    const reason: unknown = signal.reason;
    const error = reason instanceof Error ? reason : abortedError(reason);
    for (const call of calls) call.abandon(error);
    this.onAbandoned();
  }
}

function abortedError(reason: unknown): Error {
  return ownError(new Error('The send was aborted by its signal.'), reason);
}
