import type { TopicPartition } from '../../port/record.js';
import type { Runtime, Timer } from '../../runtime/index.js';

/** What a member says of itself with every heartbeat (KIP-848). */
export interface BeatRequest {
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

export interface BeatAnswer {
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
  isAway = false;
  #session: Timer | undefined;
  #revocation: Timer | undefined;

  constructor(
    readonly request: BeatRequest,
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

  enter(epoch: number): void {
    if (epoch === this.epoch) return;
    this.previousEpoch = this.epoch;
    this.epoch = epoch;
  }

  touch(sessionTimeoutMs: number): void {
    this.#session?.cancel();
    this.#session = this.#expireAfter(sessionTimeoutMs);
  }

  /** Who is asked to let go has so long to do it. */
  awaitRelease(isAwaited: boolean): void {
    if (isAwaited) this.#revocation ??= this.#expireAfter(this.request.rebalanceTimeoutMs);
    else {
      this.#revocation?.cancel();
      this.#revocation = undefined;
    }
  }

  dismiss(): void {
    this.#session?.cancel();
    this.#revocation?.cancel();
  }

  #expireAfter(milliseconds: number): Timer {
    return this.runtime.setTimer(() => this.onExpired(this), milliseconds, { background: true });
  }
}
