import { ConnectionError, RequestTimeoutError } from '../../port/errors.js';
import { Deferred, type Runtime, sleep } from '../../runtime/index.js';
import { faultError, type FaultRegistry, type FaultEffect } from './faults/fault-registry.js';
import { isMatched, type FaultMatch, type RequestScope } from './faults/request-scope.js';

export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/**
 * Executes a request at the broker. `onAbandoned` registers a callback for the case that the client
 * no longer waits for the response.
 */
export type RequestHandler<T> = (onGone: (listener: () => void) => void) => T | Promise<T>;

/** The amount of work after which other code of the process may run. */
const WORK_BUDGET = 64;
const BYTES_PER_WORK_UNIT = 16 * 1024;

class PendingCall {
  readonly failure = new Deferred<never>();
  #onAbandoned: (() => void) | undefined;
  hasEnded = false;

  constructor(readonly scope: RequestScope) {}

  onAbandoned(listener: () => void): void {
    this.#onAbandoned = listener;
  }

  fail(error: unknown): void {
    this.hasEnded = true;
    this.failure.reject(error);
    this.#onAbandoned?.();
  }
}

/**
 * The connection between clients and broker: latency, faults, lost responses, and yielding to the
 * event loop.
 */
export class Network {
  readonly #calls = new Set<PendingCall>();
  #workSinceYield = 0;
  #nextYield: Promise<void> | undefined;

  constructor(
    private readonly runtime: Runtime,
    private readonly faults: FaultRegistry,
    private readonly latencyMs: () => number,
  ) {}

  async call<T>(scope: RequestScope, effect: RequestHandler<T>, options: CallOptions): Promise<T> {
    const { timeoutMs, signal } = options;
    signal?.throwIfAborted();
    const call = new PendingCall(scope);
    const abort = (): void => call.fail(signal?.reason);
    const timer = this.runtime.setTimer(
      () => call.fail(requestTimedOutError(scope, timeoutMs)),
      timeoutMs,
    );
    signal?.addEventListener('abort', abort, { once: true });
    this.#calls.add(call);
    try {
      return await Promise.race([this.#deliver(call, effect), call.failure.promise]);
    } finally {
      this.#calls.delete(call);
      signal?.removeEventListener('abort', abort);
      timer.cancel();
    }
  }

  /** Fails pending requests, as a lost connection does. */
  failPending(match: FaultMatch, error: Error): void {
    for (const call of this.#calls) if (isMatched(match, call.scope)) call.fail(error);
  }

  /**
   * Resolves at once in most cases. After enough work it resolves only when pending input and
   * output was handled. Callers that arrive in that time wait together, so that their order is
   * kept.
   */
  yieldToEventLoop(): Promise<void> {
    this.#workSinceYield += 1;
    if (!this.#nextYield && this.#workSinceYield >= WORK_BUDGET)
      this.#nextYield = new Promise((resolve) =>
        this.runtime.defer(() => {
          this.#workSinceYield = 0;
          this.#nextYield = undefined;
          resolve();
        }),
      );
    return this.#nextYield ?? Promise.resolve();
  }

  /** Counts the transfer of many bytes as work. */
  countWork(bytes: number): void {
    this.#workSinceYield += bytes / BYTES_PER_WORK_UNIT;
  }

  async #deliver<T>(call: PendingCall, effect: RequestHandler<T>): Promise<T> {
    const latencyMs = this.latencyMs();
    await this.yieldToEventLoop();
    await this.#wait(latencyMs / 2);
    const met = this.faults.take(call.scope);
    for (const fault of met) await this.#applyBeforeRequest(fault, call);
    if (call.hasEnded) return call.failure.promise;
    const answer = await effect((listener) => call.onAbandoned(listener));
    for (const fault of met) await this.#applyAfterRequest(fault, call);
    await this.#wait(latencyMs / 2);
    await this.yieldToEventLoop();
    return answer;
  }

  async #applyBeforeRequest(fault: FaultEffect, call: PendingCall): Promise<void> {
    if (fault.kind === 'refuse') throw faultError(fault.error);
    if (fault.kind === 'lose-request') await call.failure.promise;
    if (fault.kind === 'delay-request') await this.#wait(fault.milliseconds);
  }

  async #applyAfterRequest(fault: FaultEffect, call: PendingCall): Promise<void> {
    if (fault.kind === 'fail-after') throw faultError(fault.error);
    if (fault.kind === 'lose-answer') await call.failure.promise;
    if (fault.kind === 'delay-answer') await this.#wait(fault.milliseconds);
  }

  async #wait(milliseconds: number): Promise<void> {
    if (milliseconds > 0) await sleep(this.runtime, milliseconds);
  }
}

/** The connection could not be opened, so the request was not sent. */
export class ConnectionRefusedError extends ConnectionError {
  constructor() {
    super(
      'The memory broker cannot be reached: a fault has unplugged this client. Lift the fault.',
    );
  }
}

/**
 * The connection was lost during the request, so it is unknown whether the request was executed.
 */
export function connectionLostError(): ConnectionError {
  return new ConnectionError(
    'The connection to the memory broker broke: a fault has unplugged this client. Lift the fault.',
  );
}

function requestTimedOutError({ operation }: RequestScope, timeoutMs: number): RequestTimeoutError {
  return new RequestTimeoutError(
    `The broker did not answer "${operation}" within ${timeoutMs} ms: whether the request was executed is unknown. Check its effect before it is repeated.`,
  );
}
