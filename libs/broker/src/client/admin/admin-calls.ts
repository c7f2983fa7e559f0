import { ClosedError, RequestTimeoutError } from '../../port/errors.js';
import { abortable, type Timer } from '../../runtime/index.js';
import { AdminCall } from './admin-call.js';
import type { ClusterClient } from '../../wire/index.js';

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: the channel of the session. */
  readonly channel?: string;
}

/**
 * The calls of one admin session. Each call has the request timeout as its limit, and `close` ends
 * all of them.
 */
export class AdminCalls {
  readonly #channel: string;
  readonly #running = new Set<AbortController>();
  #closed: ClosedError | undefined;

  constructor(
    readonly cluster: ClusterClient,
    readonly sessionId: string,
  ) {
    // Admin requests may keep a broker busy, so a session has its own channel and delays no other
    // requests.
    this.#channel = `admin:${sessionId}`;
  }

  /** `what` completes the sentence "… took longer than". */
  async run<T>(
    what: string,
    work: (call: AdminCall) => Promise<T>,
    { signal, channel = this.#channel }: RunOptions = {},
  ): Promise<T> {
    this.throwIfClosed();
    signal?.throwIfAborted();
    const control = new AbortController();
    const onAbort = (): void => control.abort(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#running.add(control);
    const call = new AdminCall(this.cluster, channel, control.signal);
    const deadline = this.#deadline(what, call, control);
    try {
      return await abortable(work(call), control.signal);
    } finally {
      deadline.cancel();
      this.#running.delete(control);
      signal?.removeEventListener('abort', onAbort);
    }
  }

  throwIfClosed(): void {
    if (this.#closed) throw this.#closed;
  }

  close(): void {
    this.#closed ??= new ClosedError('This admin session was closed. Create a new one.');
    for (const control of this.#running) control.abort(this.#closed);
    this.cluster.closeChannel(this.#channel, this.#closed);
  }

  /**
   * Rejects with the latest error of the call if there is one, because that says more than a
   * timeout.
   */
  #deadline(what: string, call: AdminCall, control: AbortController): Timer {
    const { runtime, requestTimeoutMs } = this.cluster;
    return runtime.setTimer(() => {
      control.abort(
        call.lastError ??
          new RequestTimeoutError(`${what} took longer than ${requestTimeoutMs} ms. Try again.`),
      );
    }, requestTimeoutMs);
  }
}
