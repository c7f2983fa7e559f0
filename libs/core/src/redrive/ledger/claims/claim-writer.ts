import {
  TransactionCommittedError,
  type BrokerDriver,
  type OutgoingRecord,
  type ProducerOptions,
  type ProducerSession,
} from '@nest-event-bus/broker';
import type { ReplayDelivery } from '../delivery.js';

/** Writes the batches of one claim. */
export interface ClaimWriter {
  readonly delivery: ReplayDelivery;
  /** If it rejects, the claim must be closed: only a new claim finds out what was written. */
  write(records: readonly OutgoingRecord[], entries: readonly OutgoingRecord[]): Promise<void>;
  /** Never rejects. */
  close(): Promise<void>;
}

/** The cluster aborts a longer transaction, which a killed process has left open. */
const TRANSACTION_TIMEOUT_MS = 30_000;
/** Shorter than the timeout of the transaction, after which the cluster fences the producer. */
const DELIVERY_TIMEOUT_MS = 20_000;
/** Only the limit of the topic decides how large a replayed record may be. */
const LARGEST_RECORD = 96 * 1024 * 1024;
const BATCH_BYTES = 256 * 1024;

const SETTINGS: ProducerOptions = {
  deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
  requestTimeoutMs: DELIVERY_TIMEOUT_MS / 2,
  lingerMs: 0,
  batchBytes: BATCH_BYTES,
  maxRequestBytes: LARGEST_RECORD,
  bufferBytes: LARGEST_RECORD,
};

type Producers = Pick<BrokerDriver, 'producer'>;

/** Writes records and entries in one transaction. A later claim with the same id fences it. */
export class TransactionalWriter implements ClaimWriter {
  readonly delivery = 'exactly-once';
  readonly #producer: ProducerSession;

  constructor(driver: Producers, transactionalId: string) {
    this.#producer = driver.producer({
      ...SETTINGS,
      transactionalId,
      transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
    });
  }

  async write(
    records: readonly OutgoingRecord[],
    entries: readonly OutgoingRecord[],
  ): Promise<void> {
    const transaction = await this.#producer.transaction();
    try {
      await transaction.send([...records, ...entries]);
      await transaction.commit();
    } catch (error) {
      try {
        await transaction.abort();
      } catch (ending) {
        if (ending instanceof TransactionCommittedError) return;
        // The next claim aborts what is left open, and reads what was committed.
      }
      throw error;
    }
  }

  async close(): Promise<void> {
    // A failed close leaves nothing that the next claim would not abort.
    await this.#producer.close().catch(() => undefined);
  }
}

/**
 * Writes the records first, and the entries when all records are acknowledged. A crash in between
 * leaves letters open that were replayed: they are replayed again with the same replay id.
 */
export class PlainWriter implements ClaimWriter {
  readonly delivery = 'at-least-once';
  readonly #producer: ProducerSession;

  constructor(
    driver: Producers,
    /** Rejects if another claim has begun. */
    private readonly requireOwner: () => Promise<void>,
  ) {
    this.#producer = driver.producer(SETTINGS);
  }

  async write(
    records: readonly OutgoingRecord[],
    entries: readonly OutgoingRecord[],
  ): Promise<void> {
    await this.requireOwner();
    await this.#producer.send(records);
    await this.#producer.send(entries);
  }

  async close(): Promise<void> {
    // What was not written is replayed again by the next claim.
    await this.#producer.close().catch(() => undefined);
  }
}
