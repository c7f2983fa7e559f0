import { Deferred, type Runtime, type Timer } from '../../runtime/index.js';

export interface JoinProtocol {
  readonly name: string;
  readonly metadata: Buffer;
}

export interface JoinRequest {
  readonly groupId: string;
  readonly memberId: string;
  /** Of a static member. */
  readonly groupInstanceId?: string | null;
  readonly clientId: string;
  readonly sessionTimeoutMs: number;
  readonly rebalanceTimeoutMs: number;
  readonly protocolType: string;
  readonly protocols: readonly JoinProtocol[];
}

export interface JoinAnswer {
  readonly generation: number;
  readonly memberId: string;
  readonly leaderId: string;
  readonly protocol: string;
  /** Only the leader is told. */
  readonly members: readonly {
    readonly memberId: string;
    readonly instanceId: string | null;
    readonly metadata: Buffer;
  }[];
  /** A static leader that came back: the group goes on with the plan that it has. */
  readonly skipAssignment: boolean;
}

/** One member as the coordinator knows it. */
export class GroupMember {
  readonly host = '/127.0.0.1';
  assignment: Buffer = Buffer.alloc(0);
  join: Deferred<JoinAnswer> | undefined;
  sync: Deferred<Buffer> | undefined;
  #session: Timer | undefined;

  constructor(
    readonly id: string,
    private request: JoinRequest,
    private readonly runtime: Runtime,
    private readonly onExpired: (member: GroupMember) => void,
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

  /** A member that asks for the same again has only lost its answer. */
  asksTheSame({ protocols }: JoinRequest): boolean {
    const known = this.request.protocols;
    return (
      known.length === protocols.length &&
      known.every(({ name, metadata }, index) => {
        const other = protocols[index];
        return other?.name === name && other.metadata.equals(metadata);
      })
    );
  }

  waitToJoin(): Promise<JoinAnswer> {
    this.#session?.cancel();
    this.join?.reject(new Error('A later join of the same member took its place.'));
    this.join = new Deferred<JoinAnswer>();
    return this.join.promise;
  }

  waitToSync(): Promise<Buffer> {
    this.#session?.cancel();
    this.sync = new Deferred<Buffer>();
    return this.sync.promise;
  }

  /** From now on the member has one session time-out to be heard of again. */
  touch(): void {
    this.#session?.cancel();
    this.#session = this.runtime.setTimer(
      () => this.onExpired(this),
      this.request.sessionTimeoutMs,
      { background: true },
    );
  }

  /** Ends whatever waits for this member's sake. */
  dismiss(reason: Error): void {
    this.#session?.cancel();
    this.join?.reject(reason);
    this.sync?.reject(reason);
  }
}
