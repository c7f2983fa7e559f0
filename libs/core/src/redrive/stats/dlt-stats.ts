import type { AdminSession } from '@nest-event-bus/broker';
import type { LetterStatus } from '../ledger/ledger-entry.js';
import type { LedgerTopics } from '../ledger/ledger-topic.js';
import { readStates } from '../ledger/read-states.js';
import { belongsTo, ReadLetter, type LetterOwner } from '../letters/read-letters.js';
import { GroupCounter } from '../planning/group-counter.js';
import type { CauseGroup } from '../planning/redrive-plan.js';
import { NamedCounts } from './named-counts.js';

/** Figures about the dead letters of a binding. Times are milliseconds since 1970. */
export interface DltStats {
  readonly binding: string;
  readonly deadLetterTopic: string;
  readonly count: number;
  readonly byStatus: Readonly<Record<LetterStatus, number>>;
  /** The times of the oldest and the newest letter. */
  readonly oldest?: number;
  readonly newest?: number;
  /** Breakdowns of the open letters. */
  readonly byException: Readonly<Record<string, number>>;
  readonly byReason: Readonly<Record<string, number>>;
  readonly byTier: Readonly<Record<string, number>>;
  readonly byAge: Readonly<Record<AgeClass, number>>;
  readonly byOriginalPartition: Readonly<Record<string, number>>;
  /** By the binding that dead-lettered them; bindings may share a dead-letter topic. */
  readonly byBinding: Readonly<Record<string, number>>;
  readonly groups: readonly CauseGroup[];
  /**
   * Present if the topic is so large that only a part was read. All figures are those of that part,
   * and are not extrapolated.
   */
  readonly sampled?: { readonly read: number; readonly total: number };
}

export type AgeClass = 'under1h' | 'under1d' | 'under7d' | 'older';

export interface StatsParts {
  readonly admin: Pick<AdminSession, 'readRange' | 'watermarks'>;
  readonly topics: LedgerTopics | undefined;
  readonly owner: LetterOwner;
  readonly now: number;
  /** The largest number of letters to read. */
  readonly mostRead: number;
  readonly signal: AbortSignal | undefined;
}

interface Range {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

const HOUR_MS = 3_600_000;
const AGE_LIMITS: readonly (readonly [AgeClass, number])[] = [
  ['under1h', HOUR_MS],
  ['under1d', 24 * HOUR_MS],
  ['under7d', 168 * HOUR_MS],
];
/** A partition is sampled in this many pieces, from its oldest to its newest letters. */
const PIECES = 10;

/** Counts the dead letters of a binding. Reads the headers only. */
export async function readDltStats(parts: StatsParts): Promise<DltStats> {
  const { admin, mostRead, owner } = parts;
  const marks = await admin.watermarks(owner.dlt.topic);
  const total = marks.reduce((sum, { low, high }) => sum + high - low, 0);
  const share = Math.min(1, mostRead / Math.max(1, total));
  const counters = new StatsCounters(parts);
  for (const { partition, low, high } of marks) {
    const states = await readStates(parts, partition);
    for (const range of rangesOf({ partition, from: low, to: high }, share))
      for await (const letter of lettersOf(parts, range))
        counters.count(letter, states.statusOf(letter.offset));
  }
  const stats = counters.stats();
  return share === 1 ? stats : { ...stats, sampled: { read: counters.read, total } };
}

/** Returns the whole range, or pieces that are spread evenly over it. */
function rangesOf({ partition, from, to }: Range, share: number): readonly Range[] {
  if (share === 1) return [{ partition, from, to }];
  const length = (to - from) / PIECES;
  return Array.from({ length: PIECES }, (_, index) => {
    const start = Math.floor(from + index * length);
    const next = Math.floor(from + (index + 1) * length);
    return { partition, from: start, to: Math.min(next, Math.ceil(start + length * share)) };
  });
}

async function* lettersOf(
  { admin, owner, signal }: StatsParts,
  { partition, from, to }: Range,
): AsyncGenerator<ReadLetter, void> {
  for await (const record of admin.readRange(owner.dlt.topic, partition, from, to, { signal }))
    yield new ReadLetter(record);
}

class StatsCounters {
  read = 0;
  readonly #byStatus = { open: 0, replayed: 0, 'permanently-failed': 0 };
  readonly #exceptions = new NamedCounts();
  readonly #reasons = new NamedCounts();
  readonly #tiers = new NamedCounts();
  readonly #partitions = new NamedCounts();
  readonly #bindings = new NamedCounts();
  readonly #ages = { under1h: 0, under1d: 0, under7d: 0, older: 0 };
  readonly #groups = new GroupCounter();
  #oldest = Infinity;
  #newest = -Infinity;

  constructor(private readonly parts: Pick<StatsParts, 'owner' | 'now'>) {}

  count(letter: ReadLetter, status: LetterStatus): void {
    this.read++;
    if (!belongsTo(letter, this.parts.owner)) return;
    const { facts } = letter;
    this.#byStatus[status]++;
    this.#oldest = Math.min(this.#oldest, facts.dltTimestamp);
    this.#newest = Math.max(this.#newest, facts.dltTimestamp);
    if (status !== 'open') return;
    this.#exceptions.count(facts.lastExceptionClass);
    this.#reasons.count(facts.dltReason);
    this.#tiers.count(String(facts.tierHistory.at(-1)?.tier ?? 'unknown'));
    this.#bindings.count(facts.binding ?? 'unknown');
    this.#partitions.count(String(facts.originalPartition));
    this.#ages[ageClassOf(this.parts.now - facts.dltTimestamp)]++;
    this.#groups.count(letter);
  }

  stats(): DltStats {
    const { owner } = this.parts;
    const count = Object.values(this.#byStatus).reduce((sum, letters) => sum + letters, 0);
    return {
      binding: owner.name,
      deadLetterTopic: owner.dlt.topic,
      count,
      byStatus: this.#byStatus,
      ...(count > 0 && { oldest: this.#oldest, newest: this.#newest }),
      byException: this.#exceptions.counts(),
      byReason: this.#reasons.counts(),
      byTier: this.#tiers.counts(),
      byAge: this.#ages,
      byOriginalPartition: this.#partitions.counts(),
      byBinding: this.#bindings.counts(),
      groups: this.#groups.largest(),
    };
  }
}

function ageClassOf(ageMs: number): AgeClass {
  return AGE_LIMITS.find(([, limitMs]) => ageMs < limitMs)?.[0] ?? 'older';
}
