import { Deferred, type Runtime, type Timer } from '../../../runtime/index.js';

export interface JoinProtocol {
  readonly name: string;
  readonly metadata: Buffer;
}

export interface JoinRequest {
  readonly groupId: string;
  readonly memberId: string;
  /** The id of a static member. */
  readonly groupInstanceId?: string | null;
  readonly clientId: string;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly protocolType: string;
  readonly protocols: readonly JoinProtocol[];
}

export interface JoinResponse {
  readonly generation: number;
  readonly memberId: string;
  readonly leaderId: string;
  readonly protocol: string;
  /** The members; only the leader gets them. */
  readonly members: readonly {
    readonly memberId: string;
    readonly instanceId: string | null;
    readonly metadata: Buffer;
  }[];
  /** True for a static leader that restarted: the group keeps its current plan. */
  readonly skipAssignment: boolean;
}

/** A member of the classic protocol, as the coordinator knows it. */
export class ClassicMember {
  readonly host = '/127.0.0.1';
  assignment: Buffer = Buffer.alloc(0);
  pendingJoin: Deferred<JoinResponse> | undefined;
  pendingSync: Deferred<Buffer> | undefined;
  #sessionTimer: Timer | undefined;

  constructor(
    readonly id: string,
    private request: JoinRequest,
    private readonly runtime: Runtime,
    private readonly onExpired: (member: ClassicMember) => void,
  ) {}

  get instanceId(): string | null {
    return this.request.groupInstanceId ?? null;
  }

  get clientId(): string {
    return this.request.clientId;
  }

  get rebalanceTimeoutMs(): number {
    return this.request.rebalanceTimeoutMs;
  }

  get protocolNames(): readonly string[] {
    return this.request.protocols.map(({ name }) => name);
  }

  metadata(protocol: string): Buffer {
    return (
      this.request.protocols.find(({ name }) => name === protocol)?.metadata ?? Buffer.alloc(0)
    );
  }

  update(request: JoinRequest): void {
    this.request = request;
  }

  /**
   * Returns whether the protocols are unchanged: the member then only repeats a join whose response
   * was lost.
   */
  hasSameProtocols({ protocols }: JoinRequest): boolean {
    const known = this.request.protocols;
    return (
      known.length === protocols.length &&
      known.every(({ name, metadata }, index) => {
        const other = protocols[index];
        return other?.name === name && other.metadata.equals(metadata);
      })
    );
  }

  waitToJoin(): Promise<JoinResponse> {
    this.#sessionTimer?.cancel();
    this.pendingJoin?.reject(
      new Error('A later join request of the same member replaced this one.'),
    );
    this.pendingJoin = new Deferred<JoinResponse>();
    return this.pendingJoin.promise;
  }

  waitToSync(): Promise<Buffer> {
    this.#sessionTimer?.cancel();
    this.pendingSync = new Deferred<Buffer>();
    return this.pendingSync.promise;
  }

  /** Restarts the session timeout of the member. */
  extendSession(): void {
    this.#sessionTimer?.cancel();
    this.#sessionTimer = this.runtime.setTimer(
      () => this.onExpired(this),
      this.request.sessionTimeoutMs,
      { background: true },
    );
  }

  /** Rejects the pending requests of the member. */
  dismiss(reason: Error): void {
    this.#sessionTimer?.cancel();
    this.pendingJoin?.reject(reason);
    this.pendingSync?.reject(reason);
  }
}
