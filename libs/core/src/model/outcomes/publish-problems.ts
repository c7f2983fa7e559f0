/** A retry or dead-letter topic that records could not be written to. */
export interface TopicProblem {
  readonly topic: string;
  /** The latest. */
  readonly error: Error;
  /** Milliseconds since 1970: when it began, and when it was seen last. */
  readonly since: number;
  readonly lastSeen: number;
}

/** The topics of a binding that cannot be written to, as the rest of the bus sees them. A write that succeeds ends it. */
export interface PublishProblems {
  /** Those of late: a record that nobody tries to write any more is somebody else's by now. */
  readonly all: readonly TopicProblem[];
  /** Called when the trouble of a topic begins or ends. Returns the function that ends the subscription. */
  onChange(listener: () => void): () => void;
  /** Nothing of the binding is at work any more. */
  clear(): void;
}
