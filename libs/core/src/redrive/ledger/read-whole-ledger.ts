import type { AdminSession } from '@nest-event-bus/broker';
import type { KnownEntries } from './ledger-cache.js';
import type { LedgerTopics } from './ledger-topic.js';
import { isCommand } from './operation-state.js';
import { readLedger, type StoredEntry } from './read-ledger.js';

export interface WholeLedger {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly topics: Pick<LedgerTopics, 'ledger' | 'ledgerId' | 'cache'>;
  readonly partition: number;
  readonly signal?: AbortSignal | undefined;
  /**
   * Commands are written outside of transactions, so they are read without waiting for the end of an
   * open one. Default: all committed entries.
   */
  readonly kinds?: 'commands';
}

/**
 * Reads the entries of a ledger partition, as compaction would leave them. What this
 * process has read before is not fetched again.
 */
export async function* readWholeLedger(ledger: WholeLedger): AsyncGenerator<StoredEntry, void> {
  const { topics, partition } = ledger;
  const { cache, ledgerId } = topics;
  if (!cache || ledgerId === undefined) {
    yield* readTail(ledger, 0);
    return;
  }
  const known = cache.entriesOf(ledger.kinds ? `${ledgerId}/${ledger.kinds}` : ledgerId, partition);
  try {
    yield* readLaterThan(known, ledger);
  } finally {
    cache.shrink();
  }
}

/**
 * Reads on from the last known entry. If that entry is no longer where it was, the log was compacted
 * or truncated, so the ledger is read from its beginning.
 */
async function* readLaterThan(
  known: KnownEntries,
  ledger: WholeLedger,
): AsyncGenerator<StoredEntry, void> {
  const before = known.generation;
  const { last } = known;
  if (last) {
    const tail = readTail(ledger, last.offset);
    const { value: first } = await tail.next();
    // Another reader may have made this process forget the entries meanwhile.
    const isKnown = known.generation === before;
    if (isKnown && first?.offset === last.offset && first.key === last.key) {
      const entries = known.list();
      const end = known.last?.offset ?? last.offset;
      yield* entries;
      for await (const stored of tail) {
        known.learn(stored, before);
        if (stored.offset > end) yield stored;
      }
      return;
    }
    await tail.return();
    if (known.generation === before) known.forget();
  }
  const { generation } = known;
  for await (const stored of readTail(ledger, 0)) {
    known.learn(stored, generation);
    yield stored;
  }
}

/** Reads the entries from an offset on. */
export async function* readTail(
  { admin, kinds, topics: { ledger: topic }, partition, signal }: WholeLedger,
  from: number,
): AsyncGenerator<StoredEntry, void> {
  const range = { topic, partition, from, signal };
  if (kinds === undefined) return yield* readLedger(admin, range);
  // Other entries may belong to an open or aborted transaction, so only their offset is told.
  for await (const stored of readLedger(admin, { ...range, isolation: 'read_uncommitted' }))
    yield isCommand(stored.key) ? stored : { ...stored, entry: undefined };
}
