import { BrokerError, type ClosedError } from '../../../port/errors.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import {
  CONTROL_CHANNEL,
  errorOfCode,
  reactionTo,
  type ApiRequest,
  type CoordinatorResponse,
  type RequestKind,
  type Reaction,
} from '../../../wire/index.js';
import type { SenderContext } from '../sender-context.js';

/** The coordinator that gets the request: the one of a transactional id, or of a group. */
export interface CoordinatorTarget {
  /** The transactional id or the group, as error messages name it after "the coordinator of". */
  readonly name: string;
  readonly find: ApiRequest<CoordinatorResponse>;
  readonly requestKind: Extract<RequestKind, 'transaction' | 'transactionOffsets'>;
}

export interface CoordinatorRequest<T> {
  readonly doing: string;
  readonly request: ApiRequest<T>;
  codesOf(answer: T): readonly number[];
  readonly signal?: AbortSignal;
  /** Returns true if a caller still waits for the response. Called before every repetition. */
  isStillNeeded?(): boolean;
  /** Called with the error of an attempt that will be repeated. */
  onRetriableError?(error: Error): void;
  /** Called when a request was sent and its effect is unknown. */
  onUnknownEffect?(): void;
}

/**
 * The longest wait for one response, after which the client looks for another coordinator, because
 * the current one may not respond at all.
 */
const MAX_REQUEST_MS = 10_000;
/**
 * The delays between attempts. The first one is short, because a coordinator needs some 20 ms to
 * complete the previous transaction. That error (CONCURRENT_TRANSACTIONS) is the most frequent
 * reason to retry.
 */
const BACKOFF = { initialMs: 20, maxMs: 1_000 } as const;
const RETRIED_REACTIONS: ReadonlySet<Reaction> = new Set<Reaction>(['retry', 'find-coordinator']);
/**
 * Error codes after which the request may or may not have taken effect: -1 UNKNOWN_SERVER_ERROR, 7
 * REQUEST_TIMED_OUT, 13 NETWORK_EXCEPTION.
 */
const UNKNOWN_EFFECT_CODES: ReadonlySet<number> = new Set([-1, 7, 13]);

/** Finds a coordinator, and repeats a request until its response contains no retriable code. */
export class CoordinatorClient {
  #node: number | undefined;
  #closed: ClosedError | undefined;
  readonly #inFlight = new Set<AbortController>();

  constructor(
    private readonly context: SenderContext,
    private readonly channel: string,
    private readonly target: CoordinatorTarget,
  ) {}

  /**
   * Returns a response without retriable codes. Rejects after the producer's delivery timeout, or
   * if a repetition cannot succeed.
   */
  async request<T>(request: CoordinatorRequest<T>): Promise<T> {
    const { runtime } = this.context.cluster;
    const deadline = runtime.monotonic() + this.context.options.deliveryTimeoutMs;
    const backoff = new Backoff(runtime, BACKOFF);
    const scope = this.#abortScope(request.signal);
    try {
      for (;;) {
        scope.signal.throwIfAborted();
        const outcome = await this.#attempt(request, scope.signal);
        if ('answer' in outcome) return outcome.answer;
        request.onRetriableError?.(outcome.retriableError);
        const isLate = runtime.monotonic() >= deadline;
        if (isLate || request.isStillNeeded?.() === false) throw outcome.retriableError;
        await sleep(runtime, backoff.next(), scope.signal);
      }
    } finally {
      scope.release();
    }
  }

  close(reason: ClosedError): void {
    this.#closed = reason;
    for (const controller of this.#inFlight) controller.abort(reason);
  }

  async #attempt<T>(
    { doing, request, codesOf, onUnknownEffect }: CoordinatorRequest<T>,
    signal: AbortSignal,
  ): Promise<{ readonly answer: T } | { readonly retriableError: Error }> {
    let hasLeft = false;
    try {
      const node = (this.#node ??= await this.#findNode());
      hasLeft = true;
      const timeoutMs = this.#timeoutMs;
      const answer = await this.context.cluster.request(node, this.channel, request, {
        timeoutMs,
        signal,
      });
      const code = this.#codeToRepeat(codesOf(answer));
      if (code === undefined) return { answer };
      if (UNKNOWN_EFFECT_CODES.has(code)) onUnknownEffect?.();
      return { retriableError: errorOfCode(code, doing) };
    } catch (error) {
      this.#node = undefined;
      if (hasLeft) onUnknownEffect?.();
      if (error instanceof BrokerError && error.retriable) return { retriableError: error };
      throw error;
    }
  }

  /**
   * Returns the code because of which the whole request is repeated. Returns undefined if another
   * code is final, or if there is no error.
   */
  #codeToRepeat(codes: readonly number[]): number | undefined {
    const reactions = codes.map((code) => reactionTo(this.target.requestKind, code));
    if (reactions.some((reaction) => !RETRIED_REACTIONS.has(reaction) && reaction !== 'done'))
      return undefined;
    if (reactions.includes('find-coordinator')) this.#node = undefined;
    return codes.find((_, at) => RETRIED_REACTIONS.has(reactions[at] as Reaction));
  }

  async #findNode(): Promise<number> {
    const { cluster } = this.context;
    const { find, name } = this.target;
    const { errorCode, coordinator } = await cluster.request('any', CONTROL_CHANNEL, find, {
      timeoutMs: this.#timeoutMs,
    });
    if (errorCode !== 0) throw errorOfCode(errorCode, `Finding the coordinator of ${name}`);
    cluster.metadata.updateAddress(coordinator.nodeId, coordinator);
    return coordinator.nodeId;
  }

  get #timeoutMs(): number {
    return Math.min(this.context.options.requestTimeoutMs, MAX_REQUEST_MS);
  }

  #abortScope(signal: AbortSignal | undefined) {
    const controller = new AbortController();
    const onAbort = (): void => controller.abort(signal?.reason);
    if (this.#closed) controller.abort(this.#closed);
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#inFlight.add(controller);
    return {
      signal: controller.signal,
      release: () => {
        this.#inFlight.delete(controller);
        signal?.removeEventListener('abort', onAbort);
      },
    };
  }
}
