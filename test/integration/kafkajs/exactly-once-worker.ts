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
  /** The number of records per transaction. Default 7. */
  readonly batchSize?: number;
  /** Further options of the worker's consumer. */
  readonly consumer?: Partial<ConsumerOptions>;
}

/** Polled records, with the member and generation that received them. */
interface PolledRecords {
  readonly records: readonly BrokerRecord[];
  readonly memberId: string;
  readonly generation: number;
}

/** The results of a worker's transactions. */
export interface WorkerReport {
  committed: number;
  aborted: number;
  failed: number;
  abandoned: number;
  /** The number of transactions in which neither the commit nor the abort was answered in time. */
  unknown: number;
}

/**
 * Reads, transforms and writes: each output and the group's offset are committed in one
 * transaction. Some transactions are aborted at random. Others are left open, and the worker
 * restarts with the same transactional id.
 */
export class ExactlyOnceWorker {
  readonly report: WorkerReport = { committed: 0, aborted: 0, failed: 0, abandoned: 0, unknown: 0 };
  #session: ConsumerSession | undefined;
  #producer: ProducerSession | undefined;
  /** Counts the assignments and revocations of each partition. */
  readonly #assignmentChanges = new Map<number, number>();
  readonly #stop = new AbortController();

  constructor(private readonly settings: WorkerSettings) {}

  async run(): Promise<void> {
    while (!this.#stop.signal.aborted) await this.#processBatch().catch(() => this.#closeSession());
    await this.#session?.close();
    await this.#producer?.close();
  }

  stop(): void {
    this.#stop.abort(new Error('The worker was stopped.'));
  }

  async #processBatch(): Promise<void> {
    const session = (this.#session ??= await this.#join());
    const records = await session.poll(this.settings.batchSize ?? 7, this.#stop.signal);
    const slice = { records, memberId: session.memberId, generation: session.generation };
    const terms = new Map(this.#assignmentChanges);
    const isDone = await this.#transform(slice).catch((error: unknown) => {
      // The outcome is unknown, so the worker continues at the committed offset of the group.
      if (error instanceof TransactionOutcomeUnknownError) throw error;
      if (error instanceof ProducerFencedError) this.#producer = undefined;
      this.report.failed++;
      return false;
    });
    if (!isDone) this.#rewind(session, records, terms);
  }

  /**
   * Seeks back to records whose transaction was not committed, unless another member may have read
   * them since.
   */
  #rewind(
    session: ConsumerSession,
    records: readonly BrokerRecord[],
    terms: ReadonlyMap<number, number>,
  ): void {
    for (const { topic, partition, offset } of [...records].reverse())
      if (this.#assignmentChanges.get(partition) === terms.get(partition))
        session.seek({ topic, partition }, offset);
  }

  /** Returns true if the transaction was committed. */
  async #transform({ records, memberId, generation }: PolledRecords): Promise<boolean> {
    const transaction = await this.#currentProducer.transaction();
    try {
      const { target, groupId } = this.settings;
      await Promise.all([
        transaction.send(records.map(({ key, value }) => ({ topic: target, key, value }))),
        transaction.sendOffsets({ groupId, memberId, generation, offsets: nextOffsetsOf(records) }),
      ]);
      const chance = realRuntime.random();
      if (chance < 0.05) return await this.#abandonTransaction();
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

  /**
   * Leaves the transaction open, as a killed process does. The next producer with the same id
   * aborts it.
   */
  async #abandonTransaction(): Promise<boolean> {
    this.report.abandoned++;
    this.#producer = undefined;
    await this.#closeSession();
    return true;
  }

  async #closeSession(): Promise<void> {
    const session = this.#session;
    this.#session = undefined;
    await session?.close();
  }

  async #join(): Promise<ConsumerSession> {
    // Begins with the abort of the previous producer's open transaction, because the committed
    // offsets may depend on it.
    await this.#currentProducer.transaction().then((transaction) => transaction.abort());
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
        this.#assignmentChanges.set(partition, (this.#assignmentChanges.get(partition) ?? 0) + 1);
    };
    const listener = { onAssigned: changed, onRevoked: changed, onLost: changed };
    await session.start(listener, this.#stop.signal);
    return session;
  }

  get #currentProducer(): ProducerSession {
    const { driver, transactionalId } = this.settings;
    return (this.#producer ??= driver.producer({
      transactionalId,
      requestTimeoutMs: 1_000,
      deliveryTimeoutMs: 5_000,
    }));
  }
}

function nextOffsetsOf(records: readonly BrokerRecord[]) {
  const offsets = new Map<number, { topic: string; partition: number; offset: number }>();
  for (const { topic, partition, offset } of records)
    offsets.set(partition, { topic, partition, offset: offset + 1 });
  return [...offsets.values()];
}
