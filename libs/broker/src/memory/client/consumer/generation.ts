import { Backoff, Deferred, type Runtime, sleep, type Timer } from '../../../runtime/index.js';
import { isRefusal, Refusal } from '../../broker/faults/refusal.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { GroupClient, Identity } from './group-client.js';
import type { ConsumerStatus } from './consumer-status.js';

/** The reason why a generation ended for this member. */
export type GenerationEnd =
  { readonly kind: 'rebalance' } | MembershipLoss | { readonly kind: 'closing' };

export interface MembershipLoss {
  readonly kind: 'lost';
  readonly error: Error;
  /** True if the group no longer knows the member id. */
  readonly forgetId: boolean;
  /** True if another session uses the group instance id: a rejoin would fence that session. */
  readonly isFinal: boolean;
}

export interface GenerationOptions {
  readonly heartbeatIntervalMs: number;
  readonly sessionTimeoutMs: number;
  /**
   * Returns whether a join is pending. The response to the join then decides about the membership,
   * not the response to a heartbeat.
   */
  isJoining(): boolean;
}

const FAST_INTERVAL_MS = 500;
const FAST_HEARTBEATS = 10;

/**
 * Membership in one generation, with its heartbeats. A rebalance is reported once. Heartbeats
 * continue while partitions are revoked, and the membership can still be lost. If no heartbeat is
 * answered within the session timeout, the membership ends, because the group has removed the
 * member.
 */
export class Generation {
  readonly #ended = new Deferred<GenerationEnd>();
  readonly #lost = new Deferred<MembershipLoss>();
  readonly #stopped = new AbortController();
  #sessionTimer: Timer;
  #leaseUntil = -Infinity;
  #fastHeartbeatsLeft: number;
  #isEnding = false;
  #loss: MembershipLoss | undefined;

  constructor(
    readonly identity: Identity,
    /** True if partitions stay owned during a rejoin. */
    readonly isCooperative: boolean,
    private readonly group: GroupClient,
    private readonly options: GenerationOptions,
    private readonly runtime: Runtime,
    private readonly status: ConsumerStatus,
    private readonly onFatal: (error: Error) => void,
  ) {
    this.#sessionTimer = this.#startSessionTimer(options.sessionTimeoutMs);
    // A cooperative group often needs a second rebalance, which the response to an early heartbeat
    // reports.
    this.#fastHeartbeatsLeft = isCooperative ? FAST_HEARTBEATS : 0;
    void this.#runHeartbeats(this.#stopped.signal);
  }

  /** See `ConsumerSession.leaseUntil`. */
  get leaseUntil(): number {
    return this.#stopped.signal.aborted ? -Infinity : this.#leaseUntil;
  }

  /** Extends the lease after an answer to a request that was sent at this time. */
  renewLease(sentAt: number): void {
    this.#leaseUntil = Math.max(this.#leaseUntil, sentAt + this.options.sessionTimeoutMs);
  }

  /** The first reason to leave this generation. */
  get ended(): Promise<GenerationEnd> {
    return this.#ended.promise;
  }

  /** True if the member has to rejoin or was removed. */
  get isEnding(): boolean {
    return this.#isEnding;
  }

  /** Resolves when other members may own the partitions, even if a rebalance has started before. */
  get lost(): Promise<MembershipLoss> {
    return this.#lost.promise;
  }

  get loss(): MembershipLoss | undefined {
    return this.#loss;
  }

  /** Aborts when the heartbeats have stopped. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  end(reason: GenerationEnd): void {
    if (this.#stopped.signal.aborted) return;
    this.#isEnding = true;
    this.#ended.resolve(reason);
    if (reason.kind !== 'lost') return;
    this.#loss = reason;
    this.#lost.resolve(reason);
    this.stop();
  }

  /** Stops the heartbeats before a rejoin or a leave. */
  stop(): void {
    this.#sessionTimer.cancel();
    this.#stopped.abort(new Error('The generation is over.'));
  }

  /** Ends the membership after a response that the member is fenced. */
  onFenced(refusal: Refusal): void {
    this.end(lossFrom(refusal));
  }

  async #runHeartbeats(signal: AbortSignal): Promise<void> {
    const { heartbeatIntervalMs } = this.options;
    const backoff = new Backoff(this.runtime, { initialMs: 50, maxMs: heartbeatIntervalMs });
    let pauseMs = this.#interval();
    while (!signal.aborted) {
      try {
        await sleep(this.runtime, pauseMs, signal);
        await this.#heartbeat(signal);
        backoff.reset();
        pauseMs = this.#interval();
      } catch (error) {
        if (signal.aborted) return;
        this.#handleError(error);
        pauseMs = Math.min(heartbeatIntervalMs, backoff.next());
      }
    }
  }

  #interval(): number {
    const { heartbeatIntervalMs } = this.options;
    return this.#fastHeartbeatsLeft-- > 0
      ? Math.min(FAST_INTERVAL_MS, heartbeatIntervalMs)
      : heartbeatIntervalMs;
  }

  async #heartbeat(signal: AbortSignal): Promise<void> {
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
    this.renewLease(sentAt);
    this.#sessionTimer.cancel();
    if (!signal.aborted)
      this.#sessionTimer = this.#startSessionTimer(
        sentAt + sessionTimeoutMs - this.runtime.monotonic(),
      );
  }

  #handleError(error: unknown): void {
    if (error instanceof Refusal) {
      if (error.reason === 'ILLEGAL_GENERATION' && this.options.isJoining()) return;
      if (isRefusal(error, 'UNKNOWN_MEMBER_ID', 'ILLEGAL_GENERATION', 'FENCED_INSTANCE_ID'))
        return this.onFenced(error);
    }
    const shown = toBrokerError(error);
    if (isRetriable(shown)) this.status.retrying('group', shown);
    else this.onFatal(shown);
  }

  #startSessionTimer(milliseconds: number): Timer {
    return this.runtime.setTimer(() => {
      const error = toBrokerError(
        new Refusal(
          'UNKNOWN_MEMBER_ID',
          `no heartbeat was answered for ${this.options.sessionTimeoutMs} ms, so the group has removed this member`,
        ),
      );
      this.end({ kind: 'lost', error, forgetId: false, isFinal: false });
    }, milliseconds);
  }
}

export function lossFrom(refusal: Refusal): MembershipLoss {
  return {
    kind: 'lost',
    error: toBrokerError(refusal),
    forgetId: refusal.reason === 'UNKNOWN_MEMBER_ID',
    isFinal: refusal.reason === 'FENCED_INSTANCE_ID',
  };
}
