import type { AdminSession } from '@nest-event-bus/broker';
import { ReadLetter } from '../letters/read-letters.js';
import type { PartitionStates } from '../ledger/partition-states.js';
import type { LetterSelection } from './letter-selection.js';
import type { SkipCounts } from './redrive-plan.js';
import { SkipCounter } from './skip-counter.js';

/** The next selected letter of a partition, and what was skipped before it. */
export interface ScanStep {
  /** Undefined at the end of the partition. */
  readonly letter: ReadLetter | undefined;
  readonly skipped: SkipCounts;
  /** The offset after the last letter that was read. */
  readonly next: number;
}

export interface ScanParts {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly states: PartitionStates;
  readonly selection: LetterSelection;
  readonly signal: AbortSignal | undefined;
}

/** Reads the letters of a partition, and yields those that the selection wants. */
export async function* scanPartition(parts: ScanParts): AsyncGenerator<ScanStep, void> {
  const { admin, topic, partition, states, selection, signal } = parts;
  let skipped = new SkipCounter();
  let next = parts.from;
  for await (const record of admin.readRange(topic, partition, parts.from, parts.to, { signal })) {
    const letter = new ReadLetter(record);
    next = letter.offset + 1;
    const verdict = selection.decide(letter, states.statusOf(letter.offset));
    if (verdict === 'ignored') continue;
    if (verdict !== 'selected') {
      skipped.count(verdict);
      continue;
    }
    yield { letter, skipped: skipped.counts(), next };
    skipped = new SkipCounter();
  }
  yield { letter: undefined, skipped: skipped.counts(), next };
}
