import type { ProgressEntry } from '../ledger/ledger-entry.js';
import type { PlannedPartition, RedrivePlan, SkipCounts } from '../planning/redrive-plan.js';
import { SkipCounter } from '../planning/skip-counter.js';

/**
 * State of an operation. `stopped`: this process has stopped its run, and `run` resumes the
 * operation.
 */
export type RedriveState = 'planned' | 'running' | 'stopped' | 'cancelled' | 'completed';

/**
 * How far an operation is. The figures always add up: selected = replayed + skipped + failed +
 * remaining.
 */
export interface RedriveReport {
  readonly planId: string;
  readonly binding: string;
  readonly state: RedriveState;
  readonly selected: number;
  readonly replayed: number;
  /** Selected letters that were no longer open when it was their turn. */
  readonly skipped: SkipCounts;
  /** Letters that the target topic refuses. They stay open. */
  readonly failed: number;
  readonly remaining: number;
}

/** Progress by partition of the dead-letter topic. */
export type ProgressByPartition = ReadonlyMap<number, ProgressEntry>;

export function redriveReport(
  plan: RedrivePlan,
  progress: ProgressByPartition,
  state: Exclude<RedriveState, 'completed'>,
): RedriveReport {
  const skips = new SkipCounter();
  let [replayed, failed] = [0, 0];
  for (const each of progress.values()) {
    skips.add(each.skipped);
    replayed += each.replayed;
    failed += each.failed;
  }
  return {
    planId: plan.id,
    binding: plan.binding,
    state: plan.partitions.every((each) => isDone(each, progress)) ? 'completed' : state,
    selected: plan.selected,
    replayed,
    skipped: skips.counts(),
    failed,
    remaining: plan.selected - replayed - failed - skips.total,
  };
}

/** A partition without selected letters has nothing to do, and gets no entry. */
export function isDone(
  { partition, selected }: PlannedPartition,
  progress: ProgressByPartition,
): boolean {
  return selected === 0 || progress.get(partition)?.isDone === true;
}
