import type { SendCall } from './send-call.js';

interface Watched {
  readonly calls: Set<SendCall>;
  readonly onAbort: () => void;
}

/** The signals of all calls, with one listener each: Node warns of a leak where many calls share a signal. */
export class AbortWatch {
  readonly #signals = new Map<AbortSignal, Watched>();

  constructor(private readonly onAbandoned: () => void) {}

  /** Gives the call up as soon as the signal aborts, at once where it has. */
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

  #watch(signal: AbortSignal): Watched {
    const calls = new Set<SendCall>();
    const watched = { calls, onAbort: () => this.#abandon([...calls], signal) };
    signal.addEventListener('abort', watched.onAbort, { once: true });
    this.#signals.set(signal, watched);
    return watched;
  }

  #abandon(calls: readonly SendCall[], signal: AbortSignal): void {
    const reason: unknown = signal.reason;
    const error =
      reason instanceof Error ? reason : new Error('The send was given up.', { cause: reason });
    for (const call of calls) call.abandon(error);
    this.onAbandoned();
  }
}
