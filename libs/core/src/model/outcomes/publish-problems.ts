/** A retry or dead-letter topic that takes no records at the moment. */
export interface TopicProblem {
  readonly topic: string;
  /** The latest error. */
  readonly error: Error;
  /** Milliseconds since 1970: the first and the latest failed write. */
  readonly since: number;
  readonly lastSeen: number;
}

/** The topics of a binding that cannot be written to, for health and metrics. A write that succeeds removes its topic. */
export interface PublishProblems {
  /** Topics with a recent failed write. After a while without a write, another process has the records. */
  readonly all: readonly TopicProblem[];
  /** Calls the listener when a topic is added or removed. Returns the function that ends the subscription. */
  onChange(listener: () => void): () => void;
  /** Forgets all problems, because the binding was stopped. */
  clear(): void;
}
