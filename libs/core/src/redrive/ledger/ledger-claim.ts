import {
  ownError,
  TransactionCommittedError,
  type AdminSession,
  type BrokerDriver,
  type OutgoingRecord,
  type ProducerSession,
} from '@nest-event-bus/broker';
import { Backoff, resolvesWithin, sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import { encodeEntry, ledgerKeys, type LedgerEntry } from './ledger-entry.js';
import { ledgerPartitionOf, type LedgerTopics } from './ledger-topic.js';
import type { PartitionStates } from './partition-states.js';
import { readLedger } from './read-ledger.js';
import { readStates } from './read-states.js';

export interface LedgerClaimParts {
  readonly driver: Pick<BrokerDriver, 'producer'>;
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly topics: LedgerTopics;
  readonly runtime: Runtime;
}

export interface Claimant {
  /** The partition of the dead-letter topic. */
  readonly partition: number;
  /** The id of the operation, or the name of a command. */
  readonly operation: string;
  readonly signal: AbortSignal;
}

/**
 * A ledger entry with its key, to be written with the records that it is about. Null deletes the
 * entry.
 */
export type KeyedEntry = readonly [key: string, entry: LedgerEntry | null];

/** The cluster aborts a longer transaction, which a killed process has left open. */
const TRANSACTION_TIMEOUT_MS = 30_000;
/** Shorter than the timeout of the transaction, after which the cluster fences the producer. */
const DELIVERY_TIMEOUT_MS = 20_000;
/** Only the limit of the topic decides how large a replayed record may be. */
const LARGEST_RECORD = 96 * 1024 * 1024;
const BATCH_BYTES = 256 * 1024;
/** The wait for transactions of other producers that hide the claim. */
const READING = { initialMs: 20, maxMs: 1_000 };
const LONGEST_HIDDEN_MS = 120_000;
/** Much shorter than the silence after which another node claims the partition. */
const KEEP_EVERY_MS = 2_500;

/**
 * The right to write ledger entries about one partition of dead letters. The transactional id is
 * that of the partition, so a later claim, of any node, fences this one. `states` is what the
 * ledger says when the claim begins, and no one else can change it without fencing the claim.
 */
export class LedgerClaim {
  readonly #id: string;

  private constructor(
    private readonly parts: LedgerClaimParts,
    private readonly claimant: Claimant,
    private readonly producer: ProducerSession,
    readonly states: PartitionStates,
  ) {
    this.#id = parts.runtime.uuid();
  }

  /** The partition of the dead-letter topic. */
  get partition(): number {
    return this.claimant.partition;
  }

  static async open(parts: LedgerClaimParts, claimant: Claimant): Promise<LedgerClaim> {
    const { topics } = parts;
    const producer = parts.driver.producer({
      transactionalId: transactionalIdOf(topics, claimant.partition),
      transactionTimeoutMs: TRANSACTION_TIMEOUT_MS,
      deliveryTimeoutMs: DELIVERY_TIMEOUT_MS,
      requestTimeoutMs: DELIVERY_TIMEOUT_MS / 2,
      lingerMs: 0,
      batchBytes: BATCH_BYTES,
      maxRequestBytes: LARGEST_RECORD,
      bufferBytes: LARGEST_RECORD,
    });
    try {
      // Read before the claim is written, so that its own entry is always among the later ones.
      const states = await readStates({ ...parts, signal: claimant.signal }, claimant.partition);
      const claim = new LedgerClaim(parts, claimant, producer, states);
      await claim.#begin();
      return claim;
    } catch (error) {
      // Whatever a failed close leaves, the next claim aborts.
      await producer.close().catch(() => undefined);
      throw error;
    }
  }

  /**
   * Writes records and ledger entries in one transaction. If it rejects, the claim must be closed:
   * only a new claim finds out what was committed.
   */
  async commit(records: readonly OutgoingRecord[], entries: readonly KeyedEntry[]): Promise<void> {
    const transaction = await this.producer.transaction();
    try {
      await transaction.send([...records, ...this.#entryRecords(entries)]);
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

  /**
   * Waits, and tells the other nodes now and then that the claim still holds. Without that they
   * would take a long wait for the silence of a dead node.
   */
  async keepWhile<T>(waiting: Promise<T>): Promise<T> {
    const { runtime } = this.parts;
    waiting.catch(() => undefined);
    const settled = waiting.then(
      () => undefined,
      () => undefined,
    );
    while (!(await resolvesWithin(runtime, KEEP_EVERY_MS, settled)))
      await this.commit([], [this.#ownerEntry(this.#id, false)]);
    return waiting;
  }

  /** Writes to the ledger that the partition is free, for fenced nodes. Never rejects. */
  async release(): Promise<void> {
    // Without the entry a fenced node waits until the ledger is silent.
    await this.commit([], [this.#ownerEntry('', true)]).catch(() => undefined);
  }

  /** Never rejects. */
  async close(): Promise<void> {
    // A failed close leaves nothing that the next claim would not abort.
    await this.producer.close().catch(() => undefined);
  }

  /** Fences the earlier claim, and reads the ledger up to the entry of this one. */
  async #begin(): Promise<void> {
    await this.commit([], [this.#ownerEntry(this.#id, false)]);
    await this.#readUntil(this.#id);
  }

  #ownerEntry(claim: string, isReleased: boolean): KeyedEntry {
    const { runtime } = this.parts;
    const { operation, partition } = this.claimant;
    const at = runtime.now();
    const entry = { operation, isReleased, claim, node: runtime.hostname(), at };
    return [ledgerKeys.owner(partition), { kind: 'owner', ...entry }];
  }

  /**
   * Reads until the own entry is visible. An open transaction of another producer hides everything
   * after its first record, and entries of earlier claims could be there. So this method waits for
   * the end of that transaction.
   */
  async #readUntil(claim: string): Promise<void> {
    const { runtime } = this.parts;
    const { signal } = this.claimant;
    const backoff = new Backoff(runtime, READING);
    const endsAt = runtime.monotonic() + LONGEST_HIDDEN_MS;
    while (!(await this.#readOnce(claim))) {
      if (runtime.monotonic() > endsAt)
        throw ownError(
          new Error(
            `A transaction of another producer has been open in ledger '${this.parts.topics.ledger}' for ${LONGEST_HIDDEN_MS} ms. Find it with kafka-transactions.sh, and end it.`,
          ),
        );
      await sleep(runtime, backoff.next(), signal);
    }
  }

  async #readOnce(claim: string): Promise<boolean> {
    const { admin, topics } = this.parts;
    const { partition, signal } = this.claimant;
    const from = this.states.end;
    const where = { topic: topics.ledger, partition: ledgerPartitionOf(topics, partition) };
    for await (const stored of readLedger(admin, { ...where, from, signal })) {
      this.states.apply(stored);
      if (stored.entry?.kind === 'owner' && stored.entry.claim === claim) return true;
    }
    return false;
  }

  #entryRecords(entries: readonly KeyedEntry[]): readonly OutgoingRecord[] {
    const { topics } = this.parts;
    const partition = ledgerPartitionOf(topics, this.claimant.partition);
    return entries.map(([key, entry]) => ({
      topic: topics.ledger,
      partition,
      key,
      value: entry && encodeEntry(entry),
    }));
  }
}

export function transactionalIdOf({ deadLetters }: LedgerTopics, partition: number): string {
  return `eventbus-redrive-${deadLetters}-${partition}`;
}
