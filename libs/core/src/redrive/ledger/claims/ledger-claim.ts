import {
  ownError,
  type AdminSession,
  type BrokerDriver,
  type OutgoingRecord,
} from '@nest-event-bus/broker';
import { Backoff, resolvesWithin, sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import { PlainWriter, TransactionalWriter, type ClaimWriter } from './claim-writer.js';
import { refusesTransactions, transactionalIdOf, type ReplayDelivery } from '../delivery.js';
import { LaterClaimError } from './is-fence.js';
import { encodeEntry, ledgerKeys, type LedgerEntry } from '../ledger-entry.js';
import { ledgerPartitionOf, type LedgerTopics } from '../ledger-topic.js';
import type { PartitionStates } from '../partition-states.js';
import { readLedger } from '../read-ledger.js';
import { readStates } from '../read-states.js';

export interface LedgerClaimParts {
  readonly driver: Pick<BrokerDriver, 'producer'>;
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly topics: LedgerTopics;
  readonly runtime: Runtime;
  /** What a plan has promised. If omitted, the claim does without transactions if it has to. */
  readonly delivery?: ReplayDelivery | undefined;
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

/** The wait for transactions of other producers that hide the claim. */
const READING = { initialMs: 20, maxMs: 1_000 };
const LONGEST_HIDDEN_MS = 120_000;
/** Much shorter than the silence after which another node claims the partition. */
const KEEP_EVERY_MS = 2_500;

/**
 * The right to write ledger entries about one partition of dead letters. The transactional id is
 * that of the partition, so a later claim, of any node, fences this one. `states` is what the
 * ledger says when the claim begins, and no one else can change it without fencing the claim.
 *
 * Without transactions nobody is fenced. Then a claim looks before each write whether a later claim
 * has begun. Two claims may meet in between:
 * 1. The first claim looks, and finds no other.
 * 2. The second claim begins, and reads the ledger.
 * 3. Both replay the same letters, with the same replay ids.
 */
export class LedgerClaim {
  readonly #id: string;

  #writer: ClaimWriter;
  /** The end of the ledger when it was looked at for a later claim. */
  #lookedTo = 0;
  #hasBegun = false;

  private constructor(
    private readonly parts: LedgerClaimParts,
    private readonly claimant: Claimant,
    readonly states: PartitionStates,
  ) {
    this.#id = parts.runtime.uuid();
    this.#writer = this.#writerFor(parts.delivery ?? 'exactly-once');
  }

  /** The partition of the dead-letter topic. */
  get partition(): number {
    return this.claimant.partition;
  }

  /** How often a letter may be replayed under this claim. */
  get delivery(): ReplayDelivery {
    return this.#writer.delivery;
  }

  static async open(parts: LedgerClaimParts, claimant: Claimant): Promise<LedgerClaim> {
    // Read before the claim is written, so that its own entry is always among the later ones.
    const states = await readStates({ ...parts, signal: claimant.signal }, claimant.partition);
    const claim = new LedgerClaim(parts, claimant, states);
    try {
      await claim.#begin();
      return claim;
    } catch (error) {
      await claim.close();
      throw error;
    }
  }

  /**
   * Writes records and ledger entries in one transaction, or one after the other if the delivery is
   * at least once. If it rejects, the claim must be closed:
   * only a new claim finds out what was committed.
   */
  async commit(records: readonly OutgoingRecord[], entries: readonly KeyedEntry[]): Promise<void> {
    await this.#writer.write(records, this.#entryRecords(entries));
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
    await this.#writer.close();
  }

  /** Ends the earlier claim, and reads the ledger up to the entry of this one. */
  async #begin(): Promise<void> {
    const own = [this.#ownerEntry(this.#id, false)];
    try {
      await this.commit([], own);
    } catch (error) {
      if (this.parts.delivery !== undefined || !refusesTransactions(error)) throw error;
      await this.#writer.close();
      this.#writer = this.#writerFor('at-least-once');
      await this.commit([], own);
    }
    await this.#readUntil(this.#id);
    this.#lookedTo = this.states.end;
    this.#hasBegun = true;
  }

  #writerFor(delivery: ReplayDelivery): ClaimWriter {
    const { driver, topics } = this.parts;
    return delivery === 'exactly-once'
      ? new TransactionalWriter(driver, transactionalIdOf(topics, this.partition))
      : new PlainWriter(driver, () => this.#requireOwner());
  }

  /** Rejects if a later claim of the partition has begun. */
  async #requireOwner(): Promise<void> {
    if (!this.#hasBegun) return;
    const { admin, topics } = this.parts;
    const partition = ledgerPartitionOf(topics, this.partition);
    const range = { topic: topics.ledger, partition, from: this.#lookedTo };
    for await (const { entry, key, offset } of readLedger(admin, range)) {
      this.#lookedTo = offset + 1;
      const isClaim = key === ledgerKeys.owner(this.partition) && entry?.kind === 'owner';
      if (isClaim && entry.claim !== this.#id && entry.claim !== '') throw new LaterClaimError();
    }
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
