import {
  ProducerFencedError,
  TransactionCommittedError,
  TransactionOutcomeUnknownError,
  type BrokerDriver,
  type BrokerRecord,
  type ConsumerOptions,
  type ConsumerSession,
  type ProducerSession,
  type TopicPartition,
  type Transaction,
} from '@nest-event-bus/broker';
import { realRuntime } from '@nest-event-bus/broker/runtime';

export interface WorkerSettings {
  readonly driver: BrokerDriver;
  readonly groupId: string;
  readonly transactionalId: string;
  readonly source: string;
  readonly target: string;
  /** Default 7. */
  readonly recordsAtOnce?: number;
  /** Of the member, beside what the worker needs itself. */
  readonly consumer?: Partial<ConsumerOptions>;
}

/** Records, and who they were handed out to. */
interface Slice {
  readonly records: readonly BrokerRecord[];
  readonly memberId: string;
  readonly generation: number;
}

/** What became of the transactions of a worker. */
export interface WorkerReport {
  committed: number;
  aborted: number;
  failed: number;
  left: number;
  /** Neither the commit nor the abort had an answer in time. */
  unknown: number;
}

/**
 * Consume, transform, produce: what it reads becomes its output and its group's offset in one
 * transaction. Now and then it aborts for no reason, or leaves everything as it is and starts anew
 * under the same id.
 */
export class ExactlyOnceWorker {
  readonly report: WorkerReport = { committed: 0, aborted: 0, failed: 0, left: 0, unknown: 0 };
  #session: ConsumerSession | undefined;
  #producer: ProducerSession | undefined;
  /** Rises whenever the partition comes or goes. */
  readonly #terms = new Map<number, number>();
  readonly #stop = new AbortController();

  constructor(private readonly settings: WorkerSettings) {}

  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) await this.#round().catch(() => this.#giveUp());
    await this.#session?.close();
    await this.#producer?.close();
  }

  stop(): void {
    this.#stop.abort(new Error('The worker was stopped.'));
  }

  async #round(): Promise<void> {
    const session = (this.#session ??= await this.#join());
    const records = await session.poll(this.settings.recordsAtOnce ?? 7, this.#stop.signal);
    const slice = { records, memberId: session.memberId, generation: session.generation };
    const terms = new Map(this.#terms);
    const isDone = await this.#transform(slice).catch((error: unknown) => {
      // Nobody but the group's offset can tell what is to be read next.
      if (error instanceof TransactionOutcomeUnknownError) throw error;
      if (error instanceof ProducerFencedError) this.#producer = undefined;
      this.report.failed++;
      return false;
    });
    if (!isDone) this.#goBack(session, records, terms);
  }

  /** What did not count is read again, unless somebody else may have read it meanwhile. */
  #goBack(
    session: ConsumerSession,
    records: readonly BrokerRecord[],
    terms: ReadonlyMap<number, number>,
  ): void {
    for (const { topic, partition, offset } of [...records].reverse())
      if (this.#terms.get(partition) === terms.get(partition))
        session.seek({ topic, partition }, offset);
  }

  /** True when all of it counts. */
  async #transform({ records, memberId, generation }: Slice): Promise<boolean> {
    const transaction = await this.#myProducer.transaction();
    try {
      const { target, groupId } = this.settings;
      await Promise.all([
        transaction.send(records.map(({ key, value }) => ({ topic: target, key, value }))),
        transaction.sendOffsets({ groupId, memberId, generation, offsets: behind(records) }),
      ]);
      const chance = realRuntime.random();
      if (chance < 0.05) return await this.#leave();
      if (chance < 0.2) return await this.#abort(transaction);
      await transaction.commit();
      this.report.committed++;
      return true;
    } catch (error) {
      if (error instanceof ProducerFencedError) this.#producer = undefined;
      this.report.failed++;
      return await this.#abort(transaction);
    }
  }

  async #abort(transaction: Transaction): Promise<boolean> {
    try {
      await transaction.abort();
      this.report.aborted++;
      return false;
    } catch (error) {
      if (error instanceof TransactionOutcomeUnknownError) {
        this.report.unknown++;
        throw error;
      }
      return error instanceof TransactionCommittedError;
    }
  }

  /** As a process that is gone: the transaction stays open until its successor comes. */
  async #leave(): Promise<boolean> {
    this.report.left++;
    this.#producer = undefined;
    await this.#giveUp();
    return true;
  }

  async #giveUp(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  async #join(): Promise<ConsumerSession> {
    // Its offsets may hang in a transaction of its own predecessor.
    await this.#myProducer.transaction().then((transaction) => transaction.abort());
    const { driver, groupId, source, consumer } = this.settings;
    const session = driver.consumer({
      groupId,
      topics: [source],
      sessionTimeoutMs: 2_000,
      heartbeatIntervalMs: 300,
      rebalanceTimeoutMs: 3_000,
      ...consumer,
    });
    const changed = (partitions: readonly TopicPartition[]): void => {
      for (const { partition } of partitions)
        this.#terms.set(partition, (this.#terms.get(partition) ?? 0) + 1);
    };
    const listener = { onAssigned: changed, onRevoked: changed, onLost: changed };
    await session.start(listener, this.#stop.signal);
    return session;
  }

  get #myProducer(): ProducerSession {
    const { driver, transactionalId } = this.settings;
    return (this.#producer ??= driver.producer({
      transactionalId,
      requestTimeoutMs: 1_000,
      deliveryTimeoutMs: 5_000,
    }));
  }
}

function behind(records: readonly BrokerRecord[]) {
  const offsets = new Map<number, { topic: string; partition: number; offset: number }>();
  for (const { topic, partition, offset } of records)
    offsets.set(partition, { topic, partition, offset: offset + 1 });
  return [...offsets.values()];
}
