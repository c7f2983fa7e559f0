import type { TopicPartition } from '../../../port/record.js';
import type { Runtime, Timer } from '../../../runtime/index.js';

/** What a member says of itself with every heartbeat (KIP-848). */
export interface ConsumerHeartbeatRequest {
  readonly groupId: string;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  /** 0 to join. */
  readonly epoch: number;
  readonly topics: readonly string[];
  readonly rebalanceTimeoutMs: number;
  readonly owned: readonly TopicPartition[];
}

export interface ConsumerHeartbeatResponse {
  readonly epoch: number;
  readonly intervalMs: number;
  readonly assignment: readonly TopicPartition[];
}

/** A member as the coordinator knows it, where the broker decides who reads what. */
export class ConsumerMember {
  readonly host = '/127.0.0.1';
  epoch = 0;
  /** An answer that was lost is asked for again in the epoch before it. */
  previousEpoch = 0;
  /** What nobody else may have: what it was given, until it says that it has let go. */
  held: readonly TopicPartition[] = [];
  /** Gone for a while, as a static member may be. */
  hasLeft = false;
  #sessionTimer: Timer | undefined;
  #revocationTimer: Timer | undefined;

  constructor(
    readonly request: ConsumerHeartbeatRequest,
    private readonly runtime: Runtime,
    private readonly onExpired: (member: ConsumerMember) => void,
  ) {}

  get id(): string {
    return this.request.memberId;
  }

  get clientId(): string {
    return this.request.clientId;
  }

  get instanceId(): string | null {
    return this.request.groupInstanceId;
  }

  advanceTo(epoch: number): void {
    if (epoch === this.epoch) return;
    this.previousEpoch = this.epoch;
    this.epoch = epoch;
  }

  extendSession(sessionTimeoutMs: number): void {
    this.#sessionTimer?.cancel();
    this.#sessionTimer = this.#expireAfter(sessionTimeoutMs);
  }

  /** Who is asked to let go has so long to do it. */
  setRevocationPending(isAwaited: boolean): void {
    if (isAwaited) this.#revocationTimer ??= this.#expireAfter(this.request.rebalanceTimeoutMs);
    else {
      this.#revocationTimer?.cancel();
      this.#revocationTimer = undefined;
    }
  }

  cancelTimers(): void {
    this.#sessionTimer?.cancel();
    this.#revocationTimer?.cancel();
  }

  #expireAfter(milliseconds: number): Timer {
    return this.runtime.setTimer(() => this.onExpired(this), milliseconds, { background: true });
  }
}
