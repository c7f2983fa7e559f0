/** How often something has happened, under what its labels say. */
export interface LabelledCount {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** What is counted of a binding besides the outcomes of its records, which its containers know. */
export interface BindingCounts {
  /** Deliveries that failed: `topic`, `tier`, `exception`. */
  readonly failures: readonly LabelledCount[];
  /** Records that a retry topic has taken: `topic`, `tier`, and `to`, the tier they went to. */
  readonly retries: readonly LabelledCount[];
  /** Records that the dead-letter topic has taken: `topic`, `tier`, `reason`, `cause`. */
  readonly deadLetters: readonly LabelledCount[];
  /** Of the circuit breaker: `from`, `to`, `cause`. */
  readonly transitions: readonly LabelledCount[];
}
