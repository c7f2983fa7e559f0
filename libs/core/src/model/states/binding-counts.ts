import type { HistogramValues } from '../measures/histogram.js';

/** The count of one event, with its labels. */
export interface LabelledCount {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Handler calls of records that ended in one tier. */
export interface AttemptCounts {
  readonly tier: string;
  readonly values: HistogramValues;
  /** Number of these records that succeeded in the end. */
  readonly recovered: number;
}

/** Counts of a binding. The outcomes of records are counted by the containers. */
export interface BindingCounts {
  /** Deliveries that failed: `topic`, `tier`, `exception`. */
  readonly failures: readonly LabelledCount[];
  /** Records written to a retry topic: `topic`, `tier`, and `to`, the tier of the retry topic. */
  readonly retries: readonly LabelledCount[];
  /** Records written to the dead-letter topic: `topic`, `tier`, `reason`, `cause`. */
  readonly deadLetters: readonly LabelledCount[];
  /** Transitions of the circuit breaker: `from`, `to`, `cause`. */
  readonly transitions: readonly LabelledCount[];
  /** Handler calls of records that had failed before they were done. */
  readonly attempts: readonly AttemptCounts[];
  /** Changes of assignments: `tier`, and `change`: assigned, revoked or lost. */
  readonly rebalances: readonly LabelledCount[];
}
