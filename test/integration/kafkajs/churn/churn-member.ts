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

/** What a member says, before it goes on: what it did not say it has not done. */
export type ChurnEvent = { readonly at: number } & (
  | { readonly kind: 'assigned' | 'revoked' | 'lost'; readonly partitions: readonly number[] }
  | {
      readonly kind: 'handled';
      readonly partition: number;
      readonly offset: number;
      readonly number: number;
    }
);

type Said = ChurnEvent extends infer Event
  ? Event extends unknown
    ? Omit<Event, 'at'>
    : never
  : never;

/** From an assignment to its end: of no use to a later one of the same partition. */
interface Stint {
  /** Whether another record of it may be begun. */
  isOpen: boolean;
  /** What comes after the last record that is done; -1 before the first. */
  next: number;
}

const SLOWEST_HANDLING_MS = 4;

/** A consumer as an application would write it: it handles one record after the other, and commits what is done. */
export class ChurnMember implements AssignmentListener {
  readonly #session: ConsumerSession;
  readonly #driver: BrokerDriver;
  readonly #stints = new Map<number, Stint>();
  readonly #topic: string;
  #handling: Promise<void> = Promise.resolve();

  constructor(
    { name, brokers, groupId, topic }: ChurnSettings,
    private readonly say: (event: ChurnEvent) => void,
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
    for (const { partition } of partitions) this.#stints.set(partition, { isOpen: true, next: -1 });
    this.#tell({ kind: 'assigned', partitions: numbersOf(partitions) });
  }

  async onRevoked(partitions: readonly TopicPartition[]): Promise<void> {
    for (const { partition } of partitions) this.#close(partition);
    await this.#handling;
    await this.#commit(numbersOf(partitions));
    for (const { partition } of partitions) this.#stints.delete(partition);
    this.#tell({ kind: 'revoked', partitions: numbersOf(partitions) });
  }

  onLost(partitions: readonly TopicPartition[]): void {
    for (const { partition } of partitions) {
      this.#close(partition);
      this.#stints.delete(partition);
    }
    this.#tell({ kind: 'lost', partitions: numbersOf(partitions) });
  }

  #close(partition: number): void {
    const stint = this.#stints.get(partition);
    if (stint) stint.isOpen = false;
  }

  async #read(): Promise<void> {
    for (;;) {
      const records = await this.#session.poll(20);
      this.#handling = this.#handle(records);
      await this.#handling;
      await this.#commit([...this.#stints.keys()]);
    }
  }

  async #handle(records: readonly BrokerRecord[]): Promise<void> {
    for (const { partition, offset, value } of records) {
      const stint = this.#stints.get(partition);
      if (!stint?.isOpen) continue;
      await sleep(realRuntime, realRuntime.random() * SLOWEST_HANDLING_MS);
      this.#tell({ kind: 'handled', partition, offset, number: Number(value) });
      stint.next = offset + 1;
    }
  }

  async #commit(partitions: readonly number[]): Promise<void> {
    const offsets = partitions.flatMap((partition) => {
      const offset = this.#stints.get(partition)?.next ?? -1;
      return offset < 0 ? [] : [{ topic: this.#topic, partition, offset }];
    });
    try {
      await this.#session.commit(offsets);
    } catch (error) {
      // Whoever owns it now does it again.
      if (!(error instanceof CommitError)) throw error;
    }
  }

  #tell(said: Said): void {
    this.say({ at: realRuntime.now(), ...said });
  }
}

const numbersOf = (partitions: readonly TopicPartition[]): number[] =>
  partitions.map(({ partition }) => partition);
