import type { StoredOperation } from '../ledger/operation-state.js';
import type { CanaryContinuation } from './canary-options.js';
import type { CanaryFigures, CanaryVerdict, VerdictReason } from './canary-verdict.js';

/** How the canary of an operation stands. */
export interface CanaryReport extends CanaryFigures {
  /** The number of letters that were asked for. */
  readonly letters: number;
  readonly continue: CanaryContinuation;
  readonly verdict: CanaryVerdict;
  /** Why the verdict is bad. */
  readonly reason?: VerdictReason;
  /** The operator who has approved the rest. */
  readonly approvedBy?: string;
}

/** Returns undefined if the operation has no canary. */
export function canaryReport(operation: StoredOperation): CanaryReport | undefined {
  const { approval, canary, verdict } = operation;
  if (!canary) return undefined;
  const { good, bad, undecided } = verdict ?? canaryFigures(operation);
  return {
    letters: canary.letters,
    continue: canary.continue,
    ...{ good, bad, undecided },
    verdict: verdict?.verdict ?? 'undecided',
    ...(verdict?.reason !== undefined && { reason: verdict.reason }),
    ...(approval && { approvedBy: approval.by }),
  };
}

/** Before the verdict, all letters that were replayed belong to the canary. */
export function canaryFigures({ outcomes, progress }: StoredOperation): CanaryFigures {
  const { good, bad } = outcomes.quality();
  let [replayed, failed] = [0, 0];
  for (const each of progress.values()) {
    replayed += each.replayed;
    failed += each.failed;
  }
  return { good, bad: bad + failed, undecided: replayed - good - bad };
}

/** The time since the last letter of the canary was written. */
export function canaryWaitedMs({ progress }: StoredOperation, now: number): number {
  return now - Math.max(...[...progress.values()].map(({ at }) => at));
}
