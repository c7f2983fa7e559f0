import { ClosedError, RequestTimeoutError } from '../../port/errors.js';
import { abortable, type Timer } from '../../runtime/index.js';
import { AdminCall, type AdminCluster } from './admin-call.js';

export interface RunOptions {
  readonly signal?: AbortSignal | undefined;
  /** Default: the session's own. */
  readonly lane?: string;
}

/** The calls of one admin session: each within the request time-out, all ended by `close`. */
export class AdminCalls {
  readonly #lane: string;
  readonly #running = new Set<AbortController>();
  #closed: ClosedError | undefined;

  constructor(
    readonly cluster: AdminCluster,
    readonly sessionId: string,
  ) {
    // What an admin asks for may keep a broker busy for a while: nobody else's request stands behind it.
    this.#lane = `admin:${sessionId}`;
  }

  /** `what` completes the sentence "… took longer than". */
  async run<T>(
    what: string,
    work: (call: AdminCall) => Promise<T>,
    { signal, lane = this.#lane }: RunOptions = {},
  ): Promise<T> {
    this.throwIfClosed();
    signal?.throwIfAborted();
    const control = new AbortController();
    const giveUp = (): void => control.abort(signal?.reason);
    signal?.addEventListener('abort', giveUp, { once: true });
    this.#running.add(control);
    const call = new AdminCall(this.cluster, lane, control.signal);
    const deadline = this.#deadline(what, call, control);
    try {
      return await abortable(work(call), control.signal);
    } finally {
      deadline.cancel();
      this.#running.delete(control);
      signal?.removeEventListener('abort', giveUp);
    }
  }

  throwIfClosed(): void {
    if (this.#closed) throw this.#closed;
  }

  close(): void {
    this.#closed ??= new ClosedError('This admin session was closed: make another one.');
    for (const control of this.#running) control.abort(this.#closed);
    this.cluster.closeLane(this.#lane, this.#closed);
  }

  /** Where something went wrong each time, that says more than the time that went by. */
  #deadline(what: string, call: AdminCall, control: AbortController): Timer {
    const { runtime, requestTimeoutMs } = this.cluster;
    return runtime.setTimer(() => {
      control.abort(
        call.trouble ??
          new RequestTimeoutError(`${what} took longer than ${requestTimeoutMs} ms. Try again.`),
      );
    }, requestTimeoutMs);
  }
}
