import type { ProgressEntry } from '../ledger/ledger-entry.js';
import type { PlannedPartition } from '../planning/redrive-plan.js';

type Progress = Pick<ProgressEntry, 'replayed' | 'failed' | 'isDone'>;

/** Letters of a partition that count for a canary: those that were written, or could not be. */
export function triedIn(progress: Progress | undefined): number {
  return progress ? progress.replayed + progress.failed : 0;
}

/**
 * Returns how many letters each partition replays for a canary. All nodes come to the same result,
 * because it follows from the plan and the progress. A partition that is done gives what it has; the
 * others replace letters that it has skipped.
 */
export function canaryQuotas(
  letters: number,
  partitions: readonly PlannedPartition[],
  progress: ReadonlyMap<number, Progress>,
): ReadonlyMap<number, number> {
  const quotas = new Map<number, number>();
  let left = letters;
  const open = partitions.filter(({ partition, selected }) => {
    const known = progress.get(partition);
    if (selected > 0 && !known?.isDone) return true;
    quotas.set(partition, triedIn(known));
    left -= triedIn(known);
    return false;
  });
  for (let [index, unfilled] = [0, open]; left > 0 && unfilled.length > 0; index = 0) {
    for (; index < unfilled.length && left > 0; index++, left--) {
      const { partition } = unfilled[index]!;
      quotas.set(partition, (quotas.get(partition) ?? 0) + 1);
    }
    unfilled = unfilled.filter(({ partition, selected }) => quotas.get(partition)! < selected);
  }
  return quotas;
}
