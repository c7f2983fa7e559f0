import { ConnectionError, RequestTimeoutError } from '../../port/errors.js';
import { Deferred, type Runtime, sleep } from '../../runtime/index.js';
import { asError, type FaultBook, type FaultEffect } from './faults.js';
import { isMatched, type FaultMatch, type RequestScope } from './request-scope.js';

export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** What a request does at the broker; `onGone` calls back once nobody waits for the answer any more. */
export type Effect<T> = (onGone: (listener: () => void) => void) => T | Promise<T>;

/** So much work may be done before other work of the process gets a turn. */
const TURN_BUDGET = 64;
const BYTES_PER_UNIT = 16 * 1024;

class Call {
  readonly failure = new Deferred<never>();
  #onGone: (() => void) | undefined;
  isOver = false;

  constructor(readonly scope: RequestScope) {}

  onGone(listener: () => void): void {
    this.#onGone = listener;
  }

  fail(error: unknown): void {
    this.isOver = true;
    this.failure.reject(error);
    this.#onGone?.();
  }
}

/** Everything between clients and broker: turns, latency, faults, and answers that never come. */
export class Network {
  readonly #calls = new Set<Call>();
  #spent = 0;
  #nextTurn: Promise<void> | undefined;

  constructor(
    private readonly runtime: Runtime,
    private readonly faults: FaultBook,
    private readonly latencyMs: () => number,
  ) {}

  async call<T>(scope: RequestScope, effect: Effect<T>, options: CallOptions): Promise<T> {
    const { timeoutMs, signal } = options;
    signal?.throwIfAborted();
    const call = new Call(scope);
    const abort = (): void => call.fail(signal?.reason);
    const timer = this.runtime.setTimer(() => call.fail(timedOut(scope, timeoutMs)), timeoutMs);
    signal?.addEventListener('abort', abort, { once: true });
    this.#calls.add(call);
    try {
      return await Promise.race([this.#travel(call, effect), call.failure.promise]);
    } finally {
      this.#calls.delete(call);
      signal?.removeEventListener('abort', abort);
      timer.cancel();
    }
  }

  /** Ends what is under way, as a connection does that breaks. */
  breakOff(match: FaultMatch, error: Error): void {
    for (const call of this.#calls) if (isMatched(match, call.scope)) call.fail(error);
  }

  /**
   * Resolves at once most of the time; now and then only after pending input and output had a turn.
   * Who comes meanwhile waits for the same turn: nobody overtakes.
   */
  turn(): Promise<void> {
    this.#spent += 1;
    if (!this.#nextTurn && this.#spent >= TURN_BUDGET)
      this.#nextTurn = new Promise((resolve) =>
        this.runtime.defer(() => {
          this.#spent = 0;
          this.#nextTurn = undefined;
          resolve();
        }),
      );
    return this.#nextTurn ?? Promise.resolve();
  }

  /** Moving many bytes counts as much work. */
  charge(bytes: number): void {
    this.#spent += bytes / BYTES_PER_UNIT;
  }

  async #travel<T>(call: Call, effect: Effect<T>): Promise<T> {
    const latencyMs = this.latencyMs();
    await this.turn();
    await this.#pass(latencyMs / 2);
    const met = this.faults.meet(call.scope);
    for (const fault of met) await this.#before(fault, call);
    if (call.isOver) return call.failure.promise;
    const answer = await effect((listener) => call.onGone(listener));
    for (const fault of met) await this.#after(fault, call);
    await this.#pass(latencyMs / 2);
    await this.turn();
    return answer;
  }

  async #before(fault: FaultEffect, call: Call): Promise<void> {
    if (fault.kind === 'refuse') throw asError(fault.error);
    if (fault.kind === 'lose-request') await call.failure.promise;
    if (fault.kind === 'delay-request') await this.#pass(fault.milliseconds);
  }

  async #after(fault: FaultEffect, call: Call): Promise<void> {
    if (fault.kind === 'fail-after') throw asError(fault.error);
    if (fault.kind === 'lose-answer') await call.failure.promise;
    if (fault.kind === 'delay-answer') await this.#pass(fault.milliseconds);
  }

  async #pass(milliseconds: number): Promise<void> {
    if (milliseconds > 0) await sleep(this.runtime, milliseconds);
  }
}

/** A connection that was never made: nothing of the request has left. */
export class ConnectionRefused extends ConnectionError {
  constructor() {
    super(
      'The memory broker cannot be reached: a fault has unplugged this client. Lift the fault.',
    );
  }
}

/** A connection that broke with the request under way: whether that arrived is unknown. */
export function brokenConnection(): ConnectionError {
  return new ConnectionError(
    'The connection to the memory broker broke: a fault has unplugged this client. Lift the fault.',
  );
}

function timedOut({ operation }: RequestScope, timeoutMs: number): RequestTimeoutError {
  return new RequestTimeoutError(
    `The broker did not answer "${operation}" within ${timeoutMs} ms: whether it had its effect is unknown.`,
  );
}
