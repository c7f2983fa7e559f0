import type {
  AssignedPartition,
  AssignmentListener,
  ConsumerOptions,
  ConsumerSession,
  SessionStatus,
} from '../port/consumer.js';
import type { BrokerDriver } from '../port/driver.js';
import { ClosedError, type PartitionError } from '../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../port/record.js';
import { partitionName } from '../port/topic-partition.js';
import type { CaseContext } from './case-context.js';

export interface MemberOptions extends Omit<ConsumerOptions, 'groupId'> {
  /** Default: a new group. */
  readonly groupId?: string;
  /** Default: the first driver of the case. */
  readonly driver?: BrokerDriver;
  /** Callbacks that run after an event was recorded. */
  readonly on?: Partial<AssignmentListener>;
}

export type MemberEvent =
  | { readonly kind: 'assigned'; readonly partitions: readonly AssignedPartition[] }
  | { readonly kind: 'revoked'; readonly partitions: readonly TopicPartition[] }
  | { readonly kind: 'lost'; readonly partitions: readonly TopicPartition[] }
  | { readonly kind: 'stopped'; readonly error: PartitionError };

/** A session under test that records all its callbacks. */
export class Member {
  readonly events: MemberEvent[] = [];
  readonly statuses: SessionStatus[] = [];
  readonly handled: BrokerRecord[] = [];
  readonly #next = new Map<string, number>();
  readonly #stopSignal = new AbortController();
  #reading: Promise<void> | undefined;

  constructor(
    private readonly context: CaseContext,
    readonly session: ConsumerSession,
    private readonly on: Partial<AssignmentListener>,
  ) {
    session.onStatus((status) => this.statuses.push(status));
  }

  start(signal?: AbortSignal): Promise<void> {
    const what = 'the session to join its group';
    return this.context.within(this.startWithoutDeadline(signal), what, () => this.describe());
  }

  /** Starts without a deadline, for cases in which the start has to wait. */
  startWithoutDeadline(signal?: AbortSignal): Promise<void> {
    return this.session.start(this.#listener(), signal);
  }

  close(): Promise<void> {
    return this.context.within(this.session.close(), 'the session to close');
  }

  /** Polls until it has so many records, never requesting more. */
  async read(count: number, atMost = count): Promise<BrokerRecord[]> {
    const records: BrokerRecord[] = [];
    while (records.length < count) {
      const requested = Math.min(atMost, count - records.length);
      const what = `record ${records.length + 1} of ${count}`;
      const state = (): string =>
        `${this.describe()}; read so far: ${records.map(describePosition).join(' ')}`;
      records.push(...(await this.context.within(this.session.poll(requested), what, state)));
    }
    return records;
  }

  async readValues(count: number): Promise<(string | null)[]> {
    return (await this.read(count)).map(valueOf);
  }

  /** Polls and records until it is closed or `stopReading` is called. */
  keepReading(): void {
    this.#reading = this.#readUntilAborted(this.#stopSignal.signal);
    this.#reading.catch(() => undefined);
  }

  async stopReading(): Promise<void> {
    this.#stopSignal.abort(new Error('The member stopped reading.'));
    await this.context.within(this.#reading ?? Promise.resolve(), 'the reading loop to end');
  }

  /** Commits the records read so far of these partitions. */
  async commitHandled(partitions: readonly TopicPartition[]): Promise<void> {
    await this.context.yieldToEventLoop();
    const offsets = partitions.flatMap(({ topic, partition }) => {
      const offset = this.#next.get(partitionName({ topic, partition }));
      return offset === undefined ? [] : [{ topic, partition, offset }];
    });
    await this.session.commit(offsets);
  }

  /** Returns the names of the owned partitions, in order. */
  owned(): string[] {
    return this.session.assignment().map(partitionName).sort();
  }

  isStable(): boolean {
    return this.session.status.state === 'stable';
  }

  /** Describes the member for the error message of a failed wait. */
  describe(): string {
    const { status, memberId, generation } = this.session;
    const why = 'error' in status ? ` (${status.error.message})` : '';
    return `${memberId}: ${status.state}${why}, generation ${generation}, owns ${this.owned().join(' ') || 'nothing'}`;
  }

  eventsOf(kind: 'assigned' | 'revoked' | 'lost'): string[] {
    return this.events.flatMap((event) =>
      event.kind === kind ? event.partitions.map(partitionName) : [],
    );
  }

  assigned(): AssignedPartition[] {
    return this.events.flatMap((event) => (event.kind === 'assigned' ? event.partitions : []));
  }

  /** Returns the errors of all statuses so far, including their causes. */
  reportedErrors(): Error[] {
    return this.statuses.flatMap((status) => ('error' in status ? errorChain(status.error) : []));
  }

  async stoppedError(): Promise<PartitionError> {
    const find = (): MemberEvent | undefined => this.events.find(({ kind }) => kind === 'stopped');
    await this.context.eventually('a partition is reported as stopped', () => find() !== undefined);
    const event = find();
    if (event?.kind !== 'stopped') throw new Error('No partition was reported as stopped.');
    return event.error;
  }

  async #readUntilAborted(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        for (const record of await this.session.poll(50, signal)) {
          this.handled.push(record);
          this.#next.set(partitionName(record), record.offset + 1);
        }
      }
    } catch (error) {
      if (error !== signal.reason && !(error instanceof ClosedError)) throw error;
    }
  }

  #listener(): AssignmentListener {
    return {
      onAssigned: async (partitions) => {
        this.events.push({ kind: 'assigned', partitions });
        await this.on.onAssigned?.(partitions);
      },
      onRevoked: async (partitions) => {
        this.events.push({ kind: 'revoked', partitions });
        await this.on.onRevoked?.(partitions);
      },
      onLost: async (partitions) => {
        this.events.push({ kind: 'lost', partitions });
        await this.on.onLost?.(partitions);
      },
      onStopped: async (error) => {
        this.events.push({ kind: 'stopped', error });
        await this.on.onStopped?.(error);
      },
    };
  }
}

export function valueOf(record: BrokerRecord): string | null {
  return record.value === null ? null : record.value.toString('utf8');
}

function describePosition({ partition, offset }: BrokerRecord): string {
  return `${partition}:${offset}`;
}

function errorChain(error: unknown): Error[] {
  return error instanceof Error ? [error, ...errorChain(error.cause)] : [];
}
