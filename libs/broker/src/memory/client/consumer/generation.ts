import { Backoff, Deferred, type Runtime, sleep, type Timer } from '../../../runtime/index.js';
import { isRefusal, Refusal } from '../../broker/refusal.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { GroupClient, Identity } from './group-client.js';
import type { StatusBoard } from './status-board.js';

/** Why our time in a generation is over. */
export type TenureEnd = { readonly kind: 'rebalance' } | Loss | { readonly kind: 'closing' };

export interface Loss {
  readonly kind: 'lost';
  readonly error: Error;
  /** The group does not know us any more. */
  readonly forgetId: boolean;
  /** Another session has our group instance id: joining again would fence that one. */
  readonly isFinal: boolean;
}

export interface TenureOptions {
  readonly heartbeatIntervalMs: number;
  readonly sessionTimeoutMs: number;
  /** Whether a join is under way: then its answer tells what has become of us, not a heartbeat's. */
  isJoining(): boolean;
}

const BRISK_MS = 500;
const BRISK_BEATS = 10;

/**
 * Our membership in one generation, kept alive by heartbeats. It says once that a rebalance calls,
 * and goes on beating while partitions are handed back; it may be lost even then. Without an
 * answered heartbeat for a session time-out it ends by itself: the group has given us up.
 */
export class Tenure {
  readonly #ended = new Deferred<TenureEnd>();
  readonly #lost = new Deferred<Loss>();
  readonly #stop = new AbortController();
  #lease: Timer;
  #brisk: number;
  #isEnding = false;
  #loss: Loss | undefined;

  constructor(
    readonly identity: Identity,
    /** Whether what is owned stays so while we join again. */
    readonly isCooperative: boolean,
    private readonly group: GroupClient,
    private readonly options: TenureOptions,
    private readonly runtime: Runtime,
    private readonly status: StatusBoard,
    private readonly onFatal: (error: Error) => void,
  ) {
    this.#lease = this.#newLease(options.sessionTimeoutMs);
    // A cooperative group often needs a second round: it begins when a heartbeat tells of it.
    this.#brisk = isCooperative ? BRISK_BEATS : 0;
    void this.#beatOn(this.#stop.signal);
  }

  /** The first reason to leave this generation. */
  get ended(): Promise<TenureEnd> {
    return this.#ended.promise;
  }

  /** We have to join again, or are out. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Resolves when what we own is somebody else's, which may be after a rebalance called. */
  get lost(): Promise<Loss> {
    return this.#lost.promise;
  }

  get loss(): Loss | undefined {
    return this.#loss;
  }

  /** Aborts once the heartbeats have stopped. */
  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  end(reason: TenureEnd): void {
    if (this.#stop.signal.aborted) return;
    this.#isEnding = true;
    this.#ended.resolve(reason);
    if (reason.kind !== 'lost') return;
    this.#loss = reason;
    this.#lost.resolve(reason);
    this.stop();
  }

  /** No more heartbeats: we join again, or leave. */
  stop(): void {
    this.#lease.cancel();
    this.#stop.abort(new Error('The generation is over.'));
  }

  /** An answer for this generation that says we are out of it. */
  fencedBy(refusal: Refusal): void {
    this.end(lossBy(refusal));
  }

  async #beatOn(signal: AbortSignal): Promise<void> {
    const { heartbeatIntervalMs } = this.options;
    const backoff = new Backoff(this.runtime, { initialMs: 50, maxMs: heartbeatIntervalMs });
    let pauseMs = this.#interval();
    while (!signal.aborted) {
      try {
        await sleep(this.runtime, pauseMs, signal);
        await this.#beat(signal);
        backoff.reset();
        pauseMs = this.#interval();
      } catch (error) {
        if (signal.aborted) return;
        this.#meet(error);
        pauseMs = Math.min(heartbeatIntervalMs, backoff.next());
      }
    }
  }

  #interval(): number {
    const { heartbeatIntervalMs } = this.options;
    return this.#brisk-- > 0 ? Math.min(BRISK_MS, heartbeatIntervalMs) : heartbeatIntervalMs;
  }

  async #beat(signal: AbortSignal): Promise<void> {
    const { heartbeatIntervalMs, sessionTimeoutMs } = this.options;
    const sentAt = this.runtime.monotonic();
    const timeoutMs = Math.max(heartbeatIntervalMs, Math.floor(sessionTimeoutMs / 3));
    try {
      await this.group.heartbeat(this.identity, { signal, timeoutMs });
    } catch (error) {
      if (!(error instanceof Refusal && error.reason === 'REBALANCE_IN_PROGRESS')) throw error;
      this.end({ kind: 'rebalance' });
    }
    this.status.recovered('group');
    this.#lease.cancel();
    if (!signal.aborted)
      this.#lease = this.#newLease(sentAt + sessionTimeoutMs - this.runtime.monotonic());
  }

  #meet(error: unknown): void {
    if (error instanceof Refusal) {
      if (error.reason === 'ILLEGAL_GENERATION' && this.options.isJoining()) return;
      if (isRefusal(error, 'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'FENCED_INSTANCE_ID'))
        return this.fencedBy(error);
    }
    const shown = toBrokerError(error);
    if (isRetriable(shown)) this.status.trouble('group', shown);
    else this.onFatal(shown);
  }

  #newLease(milliseconds: number): Timer {
    return this.runtime.setTimer(() => {
      const error = toBrokerError(
        new Refusal(
          'UNKNOWN_MEMBER_ID',
          `no heartbeat was answered for ${this.options.sessionTimeoutMs} ms, so the group has given this member up`,
        ),
      );
      this.end({ kind: 'lost', error, forgetId: false, isFinal: false });
    }, milliseconds);
  }
}

export function lossBy(refusal: Refusal): Loss {
  return {
    kind: 'lost',
    error: toBrokerError(refusal),
    forgetId: refusal.reason === 'UNKNOWN_MEMBER_ID',
    isFinal: refusal.reason === 'FENCED_INSTANCE_ID',
  };
}
