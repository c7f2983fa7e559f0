import { Deferred, type Runtime, type Timer } from '../../../runtime/index.js';
import { Refusal } from '../../broker/faults/refusal.js';
import { toBrokerError } from '../refusal-errors.js';
import type { Identity } from './group-client.js';
import type { CurrentMember } from './group-membership.js';
import { lossFrom, type MembershipLoss } from './generation.js';

/**
 * A membership of the consumer protocol (KIP-848) with one member id. Its epoch increases. It
 * expires if no heartbeat is answered within the session timeout.
 */
export class ConsumerMemberState implements CurrentMember {
  identity: Identity;
  readonly #lost = new Deferred<MembershipLoss>();
  readonly #stopped = new AbortController();
  #sessionTimer: Timer | undefined;
  #leaseUntil = -Infinity;

  constructor(
    private readonly runtime: Runtime,
    private readonly sessionTimeoutMs: number,
  ) {
    this.identity = { memberId: runtime.uuid(), generation: -1 };
  }

  get leaseUntil(): number {
    return this.signal.aborted ? -Infinity : this.#leaseUntil;
  }

  get lost(): Promise<MembershipLoss> {
    return this.#lost.promise;
  }

  /** Aborts when this member id sends no more requests. */
  get signal(): AbortSignal {
    return this.#stopped.signal;
  }

  advanceTo(epoch: number, sentAt: number): void {
    if (this.signal.aborted) return;
    this.identity = { ...this.identity, generation: epoch };
    this.#sessionTimer?.cancel();
    this.#leaseUntil = sentAt + this.sessionTimeoutMs;
    const delayMs = this.#leaseUntil - this.runtime.monotonic();
    this.#sessionTimer = this.runtime.setTimer(() => this.lose(this.#sessionExpired()), delayMs);
  }

  onFenced(refusal: Refusal): void {
    this.lose(lossFrom(refusal));
  }

  lose(loss: MembershipLoss): void {
    this.#lost.resolve(loss);
  }

  stop(): void {
    this.#sessionTimer?.cancel();
    this.#stopped.abort(new Error('The membership is over.'));
  }

  #sessionExpired(): MembershipLoss {
    const error = new Refusal(
      'UNKNOWN_MEMBER_ID',
      `no heartbeat was answered for ${this.sessionTimeoutMs} ms, so the group has removed this member`,
    );
    return { kind: 'lost', error: toBrokerError(error), forgetId: false, isFinal: false };
  }
}
