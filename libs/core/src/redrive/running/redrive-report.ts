import { canaryReport, type CanaryReport } from '../canary/canary-report.js';
import type { ReplayDelivery } from '../ledger/delivery.js';
import type { StoredOperation } from '../ledger/operation-state.js';
import { OperationState } from '../ledger/operation-state.js';
import type { OutcomeCounts } from '../outcomes/outcome-counts.js';
import type { Brake } from '../pacing/brake.js';
import type { RedrivePlan, SkipCounts } from '../planning/redrive-plan.js';
import { SkipCounter } from '../planning/skip-counter.js';
import { nextStepOf } from './next-step.js';

/** State of an operation. */
export type RedriveState =
  | 'planned'
  | 'running'
  /** It has paused itself: see `brakes`. */
  | 'braked'
  /** The canary is written, and a letter of it has no outcome yet. */
  | 'awaiting-outcomes'
  /** The canary is good, and the rest waits for `approve`. */
  | 'awaiting-approval'
  /** The canary is bad, so the rest is not replayed. */
  | 'rejected'
  /** This process has stopped its run, and `run` resumes the operation. */
  | 'stopped'
  | 'cancelled'
  | 'completed';

/**
 * How far an operation is. The figures always add up: selected = replayed + skipped + failed +
 * remaining.
 */
export interface RedriveReport {
  readonly planId: string;
  readonly binding: string;
  readonly state: RedriveState;
  /** Whether a letter may be replayed again after a failure. */
  readonly delivery: ReplayDelivery;
  readonly selected: number;
  readonly replayed: number;
  /** Selected letters that were no longer open when it was their turn. */
  readonly skipped: SkipCounts;
  /** Letters that the target topic refuses. They stay open. */
  readonly failed: number;
  readonly remaining: number;
  /** Undefined if the operation has no canary. */
  readonly canary?: CanaryReport;
  /** Why the operation has paused itself, by node. Undefined if it has not. */
  readonly brakes?: readonly NodeBrake[];
  /**
   * How the replayed records ended, as far as that is known. `status` and `operations` read it. A
   * run does not, because its records end later.
   */
  readonly outcomes?: OutcomeCounts & { readonly undecided: number };
}

const ENDED: readonly RedriveState[] = ['rejected', 'cancelled', 'completed'];

/** A brake that holds an operation on one node. */
export interface NodeBrake extends Brake {
  /** The name of the host. */
  readonly node: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/** Returns how far an operation is, in a state that its run has found. */
export function runReport(
  operation: StoredOperation,
  state: RedriveState,
  now: number,
): RedriveReport {
  const { plan, progress } = operation;
  const skips = new SkipCounter();
  let [replayed, failed] = [0, 0];
  for (const each of progress.values()) {
    skips.add(each.skipped);
    replayed += each.replayed;
    failed += each.failed;
  }
  const canary = canaryReport(operation);
  const held = ENDED.includes(state) ? [] : operation.heldBrakes(now);
  const brakes = held.map(({ kind: _kind, confirmedAt: _at, ...brake }) => brake);
  return {
    planId: plan.id,
    binding: plan.binding,
    state,
    delivery: plan.delivery ?? 'exactly-once',
    selected: plan.selected,
    replayed,
    skipped: skips.counts(),
    failed,
    remaining: plan.selected - replayed - failed - skips.total,
    ...(canary && { canary }),
    ...(brakes.length > 0 && { brakes }),
  };
}

/** Returns what the ledger says about an operation. */
export function storedReport(operation: StoredOperation, now: number): RedriveReport {
  const report = runReport(operation, storedState(operation, now), now);
  const outcomes = operation.outcomes.counts();
  const decided = outcomes.handled + outcomes.discarded + outcomes.deadLettered;
  return { ...report, outcomes: { ...outcomes, undecided: report.replayed - decided } };
}

/** Returns the report of a plan that selects nothing. */
export function emptyReport(plan: RedrivePlan): RedriveReport {
  const operation = Object.assign(new OperationState(plan.id), { plan });
  return runReport(operation, 'completed', plan.createdAt);
}

function storedState(operation: StoredOperation, now: number): RedriveState {
  const step = nextStepOf(operation);
  if (step.kind === 'end') return step.state;
  if (!operation.control) return 'planned';
  switch (step.kind) {
    case 'replay':
      return operation.heldBrakes(now).length > 0 ? 'braked' : 'running';
    case 'await-outcomes':
      return 'awaiting-outcomes';
    case 'await-approval':
      return 'awaiting-approval';
  }
}
