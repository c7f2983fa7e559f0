import type { AdminSession } from '@nest-event-bus/broker';
import type { PartitionStates } from '../ledger/partition-states.js';
import { ReadLetter } from '../letters/read-letters.js';
import { skipReasonOf, type LetterSelection } from '../planning/letter-selection.js';
import type { PlannedPartition, SkipCounts } from '../planning/redrive-plan.js';
import { SkipCounter } from '../planning/skip-counter.js';
import { statusAtPlan } from '../planning/status-at-plan.js';

/** Letters that are replayed in one transaction. */
export interface LetterBatch {
  readonly letters: readonly ReadLetter[];
  /** Letters of the plan that are no longer open. */
  readonly skipped: SkipCounts;
  /** The offset after the last letter that was put into the batch, skipped or not selected. */
  readonly next: number;
  readonly isLast: boolean;
}

export interface LetterBatchesParts {
  readonly admin: Pick<AdminSession, 'readRange'>;
  readonly topic: string;
  readonly planned: PlannedPartition;
  readonly from: number;
  readonly states: PartitionStates;
  readonly selection: LetterSelection;
  /** Returns the largest number of letters of the next batch, after so many in earlier batches. */
  readonly batchSize: (before: number) => number;
  readonly signal: AbortSignal;
}

const BYTES_PER_BATCH = 4 * 1024 * 1024;
/** After so many letters without a full batch the progress is written, and a resume begins there. */
const MOST_READ = 20_000;

/** Reads the letters that the plan selected in one partition, and puts them into batches. */
export async function* letterBatches(parts: LetterBatchesParts): AsyncGenerator<LetterBatch, void> {
  const { admin, topic, planned, from, states, selection, batchSize, signal } = parts;
  let letters: ReadLetter[] = [];
  let skipped = new SkipCounter();
  let bytes = 0;
  let [next, read, before] = [from, 0, 0];
  const range = admin.readRange(topic, planned.partition, from, planned.to, { signal });
  for await (const record of range) {
    const letter = new ReadLetter(record);
    const isFull =
      letters.length >= batchSize(before) || bytes + record.sizeInBytes > BYTES_PER_BATCH;
    if ((isFull && letters.length > 0) || read === MOST_READ) {
      yield { letters, skipped: skipped.counts(), next, isLast: false };
      before += letters.length;
      [letters, skipped, bytes, read] = [[], new SkipCounter(), 0, 0];
    }
    read++;
    next = letter.offset + 1;
    const planStatus = statusAtPlan(letter.offset, states, planned);
    // Whether the plan selected the letter is unknown, so it is left where it is.
    if (planStatus === undefined || selection.decide(letter, planStatus) !== 'selected') continue;
    const reason = skipReasonOf(states.statusOf(letter.offset));
    if (reason) {
      skipped.count(reason);
      continue;
    }
    letters.push(letter);
    bytes += record.sizeInBytes;
  }
  yield { letters, skipped: skipped.counts(), next: planned.to, isLast: true };
}
