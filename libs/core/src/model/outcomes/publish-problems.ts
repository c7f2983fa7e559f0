/** A retry or dead-letter topic whose last write failed. */
export interface TopicProblem {
  readonly topic: string;
  /** The latest error. */
  readonly error: Error;
  /** Milliseconds since 1970: the first and the latest failed write. */
  readonly since: number;
  readonly lastSeen: number;
}

/**
 * The topics of a binding that cannot be written to, for health and metrics. A successful write
 * removes its topic.
 */
export interface PublishProblems {
  /**
   * Topics with a recent failed write. A topic without a recent attempt is omitted, because another
   * process has the records now.
   */
  readonly all: readonly TopicProblem[];
  /**
   * Calls the listener when a topic is added or removed. Returns the function that ends the
   * subscription.
   */
  onChange(listener: () => void): () => void;
  /** Removes all problems, because the binding was stopped. */
  clear(): void;
}
