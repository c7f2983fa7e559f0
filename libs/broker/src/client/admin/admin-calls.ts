import { ClosedError, RequestTimeoutError } from '../../port/errors.js';
import { abortable, type Timer } from '../../runtime/index.js';
import { AdminCall } from './admin-call.js';
import type { ClusterClient } from '../../wire/index.js';

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: the channel of the admin session. */
  readonly channel?: string;
}

/**
 * The calls of one admin session. Each call ends at the request timeout at the latest, and `close`
 * ends all calls.
 */
export class AdminCalls {
  readonly #channel: string;
  readonly #running = new Set<AbortController>();
  #closed: ClosedError | undefined;

  constructor(
    readonly cluster: ClusterClient,
    readonly sessionId: string,
  ) {
    // An admin request may keep a connection busy for long. The session therefore has its own
    // channel, which delays no requests of other sessions.
    this.#channel = `admin:${sessionId}`;
  }

  /** Runs one call of the admin. `what` completes the message "… took longer than". */
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
   * Rejects with the latest error of the call if there is one, because that error explains more
   * than a timeout.
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
