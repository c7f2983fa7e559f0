import type { AdminSession, Isolation } from '@nest-event-bus/broker';
import { decodeEntry, type LedgerEntry } from './ledger-entry.js';

export interface StoredEntry {
  readonly key: string;
  /** Undefined if the entry was deleted, or is no entry. */
  readonly entry: LedgerEntry | undefined;
  /** The offset of the entry in the ledger. */
  readonly offset: number;
}

export interface LedgerRange {
  readonly topic: string;
  readonly partition: number;
  readonly from?: number;
  readonly to?: number;
  readonly signal?: AbortSignal | undefined;
  /** Default `'read_committed'`. */
  readonly isolation?: Isolation;
}

/** Reads the entries of a ledger partition, in their order. */
export async function* readLedger(
  admin: Pick<AdminSession, 'readRange'>,
  {
    topic,
    partition,
    from = 0,
    to = Number.MAX_SAFE_INTEGER,
    signal,
    isolation = 'read_committed',
  }: LedgerRange,
): AsyncGenerator<StoredEntry, void> {
  for await (const { key, value, offset } of admin.readRange(topic, partition, from, to, {
    signal,
    isolation,
  }))
    if (key !== null) yield { key: key.toString('utf8'), entry: decodeEntry(value), offset };
}
