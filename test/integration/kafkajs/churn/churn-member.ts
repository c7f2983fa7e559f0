import {
  CommitError,
  type AssignmentListener,
  type BrokerDriver,
  type BrokerRecord,
  type ConsumerSession,
  type TopicPartition,
} from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';

export interface ChurnSettings {
  readonly name: string;
  readonly brokers: readonly string[];
  readonly groupId: string;
  readonly topic: string;
}

/**
 * An event that a member reports before it continues. Work whose event was not reported was not
 * done.
 */
export type ChurnEvent = { readonly at: number } & (
  | { readonly kind: 'assigned' | 'revoked' | 'lost'; readonly partitions: readonly number[] }
  | {
      readonly kind: 'handled';
      readonly partition: number;
      readonly offset: number;
      readonly number: number;
    }
);

type ChurnEventData = ChurnEvent extends infer Event
  ? Event extends unknown
    ? Omit<Event, 'at'>
    : never
  : never;

/**
 * The state of one assignment of a partition. A later assignment of the same partition has its own
 * state.
 */
interface ActiveAssignment {
  /** True if another record of the partition may be handled. */
  isOpen: boolean;
  /** The offset after the last handled record; -1 before the first one. */
  next: number;
}

const MAX_HANDLING_MS = 4;

/**
 * A consumer as in an application: it handles one record after the other, and commits the handled
 * ones.
 */
export class ChurnMember implements AssignmentListener {
  readonly #session: ConsumerSession;
  readonly #driver: BrokerDriver;
  readonly #assignments = new Map<number, ActiveAssignment>();
  readonly #topic: string;
  #handling: Promise<void> = Promise.resolve();

  constructor(
    { name, brokers, groupId, topic }: ChurnSettings,
    private readonly report: (event: ChurnEvent) => void,
  ) {
    this.#topic = topic;
    this.#driver = kafkajs({ brokers, clientId: name });
    this.#session = this.#driver.consumer({ groupId, topics: [topic], groupProtocol: 'consumer' });
  }

  async start(): Promise<void> {
    await this.#session.start(this);
    void this.#read().catch(() => undefined);
  }

  async leave(): Promise<void> {
    await this.#session.close();
    await this.#driver.close();
  }

  onAssigned(partitions: readonly TopicPartition[]): void {
    for (const { partition } of partitions)
      this.#assignments.set(partition, { isOpen: true, next: -1 });
    this.#report({ kind: 'assigned', partitions: numbersOf(partitions) });
  }

  async onRevoked(partitions: readonly TopicPartition[]): Promise<void> {
    for (const { partition } of partitions) this.#close(partition);
    await this.#handling;
    await this.#commit(numbersOf(partitions));
    for (const { partition } of partitions) this.#assignments.delete(partition);
    this.#report({ kind: 'revoked', partitions: numbersOf(partitions) });
  }

  onLost(partitions: readonly TopicPartition[]): void {
    for (const { partition } of partitions) {
      this.#close(partition);
      this.#assignments.delete(partition);
    }
    this.#report({ kind: 'lost', partitions: numbersOf(partitions) });
  }

  #close(partition: number): void {
    const assignment = this.#assignments.get(partition);
    if (assignment) assignment.isOpen = false;
  }

  async #read(): Promise<void> {
    for (;;) {
      const records = await this.#session.poll(20);
      this.#handling = this.#handle(records);
      await this.#handling;
      await this.#commit([...this.#assignments.keys()]);
    }
  }

  async #handle(records: readonly BrokerRecord[]): Promise<void> {
    for (const { partition, offset, value } of records) {
      const assignment = this.#assignments.get(partition);
      if (!assignment?.isOpen) continue;
      await sleep(realRuntime, realRuntime.random() * MAX_HANDLING_MS);
      this.#report({ kind: 'handled', partition, offset, number: Number(value) });
      assignment.next = offset + 1;
    }
  }

  async #commit(partitions: readonly number[]): Promise<void> {
    const offsets = partitions.flatMap((partition) => {
      const offset = this.#assignments.get(partition)?.next ?? -1;
      return offset < 0 ? [] : [{ topic: this.#topic, partition, offset }];
    });
    try {
      await this.#session.commit(offsets);
    } catch (error) {
      // The new owner of the partition handles the record again.
      if (!(error instanceof CommitError)) throw error;
    }
  }

  #report(event: ChurnEventData): void {
    this.report({ at: realRuntime.now(), ...event });
  }
}

const numbersOf = (partitions: readonly TopicPartition[]): number[] =>
  partitions.map(({ partition }) => partition);
