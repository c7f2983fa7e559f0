import type { AdminSession } from '@nest-event-bus/broker';
import type { KnownEntries } from './ledger-cache.js';
import type { LedgerTopics } from './ledger-topic.js';
import { readLedger, type StoredEntry } from './read-ledger.js';

export interface WholeLedger {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly topics: Pick<LedgerTopics, 'ledger' | 'ledgerId' | 'cache'>;
  readonly partition: number;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Reads the committed entries of a ledger partition, as compaction would leave them. What this
 * process has read before is not fetched again.
 */
export async function* readWholeLedger(ledger: WholeLedger): AsyncGenerator<StoredEntry, void> {
  const { topics, partition } = ledger;
  const { cache, ledgerId } = topics;
  if (!cache || ledgerId === undefined) {
    yield* tailOf(ledger, 0);
    return;
  }
  const known = cache.entriesOf(ledgerId, partition);
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
  const { last } = known;
  if (last) {
    const tail = tailOf(ledger, last.offset);
    const { value: first } = await tail.next();
    if (first?.offset === last.offset && first.key === last.key) {
      const { generation } = known;
      const entries = known.list();
      const end = known.last?.offset ?? last.offset;
      yield* entries;
      for await (const stored of tail) {
        known.learn(stored, generation);
        if (stored.offset > end) yield stored;
      }
      return;
    }
    await tail.return();
    known.forget();
  }
  const { generation } = known;
  for await (const stored of tailOf(ledger, 0)) {
    known.learn(stored, generation);
    yield stored;
  }
}

function tailOf(
  { admin, topics: { ledger: topic }, partition, signal }: WholeLedger,
  from: number,
): AsyncGenerator<StoredEntry, void> {
  return readLedger(admin, { topic, partition, from, signal });
}
