import type { TopicPartition } from '../../../port/record.js';
import type { Runtime, Timer } from '../../../runtime/index.js';

/** The state that a member sends with every heartbeat (KIP-848). */
export interface ConsumerHeartbeatRequest {
  readonly groupId: string;
  readonly memberId: string;
  readonly groupInstanceId: string | null;
  readonly clientId: string;
  /** The member epoch; 0 to join. */
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

/** A member of the `consumer` protocol, as the coordinator knows it. */
export class ConsumerMember {
  readonly host = '/127.0.0.1';
  epoch = 0;
  /** The previous epoch, which a member still uses if it did not receive the last response. */
  previousEpoch = 0;
  /**
   * Partitions that no other member may get: the assigned ones, until the member reports their
   * release.
   */
  held: readonly TopicPartition[] = [];
  /** True for a static member that left temporarily. */
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

  /** Starts or ends the time limit for releasing partitions. */
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
