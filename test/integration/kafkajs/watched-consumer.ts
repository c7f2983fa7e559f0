import type {
  BrokerDriver,
  BrokerRecord,
  ConsumerOptions,
  ConsumerSession,
  SessionStatus,
  TopicPartition,
} from '@nest-event-bus/broker';
import { CommitError } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';

export interface WatchedOptions extends Pick<ConsumerOptions, 'sessionTimeoutMs' | 'assignors'> {
  readonly brokers: readonly string[];
  readonly groupId: string;
  readonly topic: string;
  readonly requestTimeoutMs?: number;
  readonly onRevoked?: (session: ConsumerSession) => Promise<void>;
}

interface SeenRecord {
  readonly partition: number;
  readonly offset: number;
  readonly number: number;
}

/** A consumer that commits the handled records, and stores its records, statuses and callbacks. */
export class WatchedConsumer {
  readonly session: ConsumerSession;
  readonly statuses: SessionStatus[] = [];
  readonly events: string[] = [];
  readonly seen: SeenRecord[] = [];
  /** Records that were returned again although their commit was confirmed. */
  readonly repeatedAfterCommit: SeenRecord[] = [];
  /** The error with which a poll rejected. */
  pollError: Error | undefined;
  readonly #driver: BrokerDriver;
  readonly #confirmed = new Map<number, number>();
  readonly #onRevoked: WatchedOptions['onRevoked'];

  constructor(options: WatchedOptions) {
    const { brokers, groupId, topic, assignors, sessionTimeoutMs = 10_000 } = options;
    this.#onRevoked = options.onRevoked;
    this.#driver = kafkajs({
      brokers,
      connectionTimeoutMs: 1_000,
      requestTimeoutMs: options.requestTimeoutMs ?? 2_000,
    });
    this.session = this.#driver.consumer({
      groupId,
      topics: [topic],
      assignors,
      sessionTimeoutMs,
      heartbeatIntervalMs: Math.floor(sessionTimeoutMs / 5),
      rebalanceTimeoutMs: Math.max(5_000, sessionTimeoutMs),
      fetch: { maxWaitMs: 500 },
    });
    this.session.onStatus((status) => this.statuses.push(status));
  }

  get state(): string {
    return this.session.status.state;
  }

  get numbers(): number[] {
    return this.seen.map(({ number }) => number);
  }

  /** True if the commit of every returned record is confirmed. */
  get hasCommitted(): boolean {
    return this.seen.every(
      ({ partition, offset }) => offset < (this.#confirmed.get(partition) ?? 0),
    );
  }

  get retryErrors(): Error[] {
    return this.statuses.flatMap((status) => (status.state === 'retrying' ? status.error : []));
  }

  start(signal?: AbortSignal): Promise<void> {
    const record = (event: string) => (partitions: readonly TopicPartition[]) => {
      this.events.push(`${event} ${partitions.length}`);
    };
    const onRevoked = async (partitions: readonly TopicPartition[]) => {
      record('revoked')(partitions);
      await this.#onRevoked?.(this.session);
    };
    return this.session.start(
      { onAssigned: record('assigned'), onRevoked, onLost: record('lost') },
      signal,
    );
  }

  /** Reads until the session ends. */
  startReading(): void {
    void this.#read().catch((error: Error) => {
      this.pollError = error;
    });
  }

  async close(): Promise<void> {
    await this.session.close();
    await this.#driver.close();
  }

  async #read(): Promise<void> {
    for (;;) {
      const records = await this.session.poll(100);
      for (const record of records) this.#record(record);
      const last = new Map(records.map((record) => [record.partition, record]));
      await this.#commit([...last.values()]);
    }
  }

  #record({ partition, offset, value }: BrokerRecord): void {
    const seen = { partition, offset, number: Number(value) };
    this.seen.push(seen);
    if (offset < (this.#confirmed.get(partition) ?? 0)) this.repeatedAfterCommit.push(seen);
  }

  async #commit(last: readonly BrokerRecord[]): Promise<void> {
    const offsets = last.map(({ topic, partition, offset }) => ({
      topic,
      partition,
      offset: offset + 1,
    }));
    try {
      await this.session.commit(offsets);
      for (const { partition, offset } of offsets) this.#confirmed.set(partition, offset);
    } catch (error) {
      if (!(error instanceof CommitError)) throw error;
    }
  }
}
