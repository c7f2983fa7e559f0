import { BrokerError, type ClosedError } from '../../../port/errors.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import {
  CONTROL_LANE,
  errorOfCode,
  reactionTo,
  type ApiRequest,
  type Coordinator,
  type Place,
  type Reaction,
} from '../../../wire/index.js';
import type { SenderContext } from '../sender-options.js';

/** Whom to ask: the coordinator of a transactional id, or of a group. */
export interface CoordinatorOf {
  /** As in "the coordinator of …". */
  readonly name: string;
  readonly find: ApiRequest<Coordinator>;
  readonly place: Extract<Place, 'transaction' | 'transactionOffsets'>;
}

export interface Question<T> {
  readonly doing: string;
  readonly request: ApiRequest<T>;
  codesOf(answer: T): readonly number[];
  readonly signal?: AbortSignal;
  /** Whether anybody still waits; asked before every repetition. */
  isWanted?(): boolean;
  /** What keeps it from being answered, for those who wait. */
  onTrouble?(error: Error): void;
  /** An attempt left, and nobody knows whether it had its effect. */
  onUnknown?(): void;
}

/** A frozen coordinator is left for the next one after this long. */
const LONGEST_QUESTION_MS = 10_000;
/** The transaction before is being completed for some 20 ms: that is the most frequent reason to ask again. */
const BACKOFF = { initialMs: 20, maxMs: 1_000 } as const;
const REPEATED: ReadonlySet<Reaction> = new Set<Reaction>(['retry', 'find-coordinator']);
/** The broker met an error while it was at it. */
const UNKNOWN_EFFECT: ReadonlySet<number> = new Set([-1, 7, 13]);

/** Finds a coordinator, and asks it until its answer decides something. */
export class CoordinatorLink {
  #node: number | undefined;
  #closed: ClosedError | undefined;
  readonly #asking = new Set<AbortController>();

  constructor(
    private readonly context: SenderContext,
    private readonly lane: string,
    private readonly of: CoordinatorOf,
  ) {}

  /**
   * The answer without codes that asking again may change. Rejects when it is not to be had:
   * within the producer's delivery time-out, or because asking again is of no use.
   */
  async ask<T>(question: Question<T>): Promise<T> {
    const { runtime } = this.context.cluster;
    const deadline = runtime.monotonic() + this.context.options.deliveryTimeoutMs;
    const backoff = new Backoff(runtime, BACKOFF);
    const stop = this.#stopFor(question.signal);
    try {
      for (;;) {
        stop.signal.throwIfAborted();
        const outcome = await this.#attempt(question, stop.signal);
        if ('answer' in outcome) return outcome.answer;
        question.onTrouble?.(outcome.trouble);
        const isLate = runtime.monotonic() >= deadline;
        if (isLate || question.isWanted?.() === false) throw outcome.trouble;
        await sleep(runtime, backoff.next(), stop.signal);
      }
    } finally {
      stop.release();
    }
  }

  close(reason: ClosedError): void {
    this.#closed = reason;
    for (const stop of this.#asking) stop.abort(reason);
  }

  async #attempt<T>(
    { doing, request, codesOf, onUnknown }: Question<T>,
    signal: AbortSignal,
  ): Promise<{ readonly answer: T } | { readonly trouble: Error }> {
    let hasLeft = false;
    try {
      const node = (this.#node ??= await this.#find());
      hasLeft = true;
      const timeoutMs = this.#timeoutMs;
      const answer = await this.context.cluster.request(node, this.lane, request, {
        timeoutMs,
        signal,
      });
      const code = this.#codeToRepeat(codesOf(answer));
      if (code === undefined) return { answer };
      if (UNKNOWN_EFFECT.has(code)) onUnknown?.();
      return { trouble: errorOfCode(code, doing) };
    } catch (error) {
      this.#node = undefined;
      if (hasLeft) onUnknown?.();
      if (error instanceof BrokerError && error.retriable) return { trouble: error };
      throw error;
    }
  }

  /** A code for which the whole is asked again; undefined where another one decides, or none does. */
  #codeToRepeat(codes: readonly number[]): number | undefined {
    const reactions = codes.map((code) => reactionTo(this.of.place, code));
    if (reactions.some((reaction) => !REPEATED.has(reaction) && reaction !== 'done'))
      return undefined;
    if (reactions.includes('find-coordinator')) this.#node = undefined;
    return codes.find((_, at) => REPEATED.has(reactions[at] as Reaction));
  }

  async #find(): Promise<number> {
    const { cluster } = this.context;
    const { errorCode, coordinator } = await cluster.request('any', CONTROL_LANE, this.of.find, {
      timeoutMs: this.#timeoutMs,
    });
    if (errorCode !== 0)
      throw errorOfCode(errorCode, `Looking for the coordinator of ${this.of.name}`);
    cluster.metadata.learnAddress(coordinator.nodeId, coordinator);
    return coordinator.nodeId;
  }

  get #timeoutMs(): number {
    return Math.min(this.context.options.requestTimeoutMs, LONGEST_QUESTION_MS);
  }

  #stopFor(signal: AbortSignal | undefined) {
    const stop = new AbortController();
    const onAbort = (): void => stop.abort(signal?.reason);
    if (this.#closed) stop.abort(this.#closed);
    if (signal?.aborted) onAbort();
    signal?.addEventListener('abort', onAbort, { once: true });
    this.#asking.add(stop);
    return {
      signal: stop.signal,
      release: () => {
        this.#asking.delete(stop);
        signal?.removeEventListener('abort', onAbort);
      },
    };
  }
}
