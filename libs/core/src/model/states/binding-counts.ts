/** The count of one event, with its labels. */
export interface LabelledCount {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** Counters of a binding. The outcomes of its records are counted by its containers. */
export interface BindingCounts {
  /** Deliveries that failed: `topic`, `tier`, `exception`. */
  readonly failures: readonly LabelledCount[];
  /** Records written to a retry topic: `topic`, `tier`, and `to`, the tier of the retry topic. */
  readonly retries: readonly LabelledCount[];
  /** Records written to the dead-letter topic: `topic`, `tier`, `reason`, `cause`. */
  readonly deadLetters: readonly LabelledCount[];
  /** Transitions of the circuit breaker: `from`, `to`, `cause`. */
  readonly transitions: readonly LabelledCount[];
}
