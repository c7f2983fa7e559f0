/** How the replay of a dead letter ended. */
export type ReplayResult = 'handled' | 'discarded' | 'dead-lettered';

export interface ReplayOutcome {
  readonly result: ReplayResult;
  /** The tier in which the record ended; 0 is the main topic. */
  readonly tier: number;
  /** Why it was discarded, or the cause of the new dead letter. */
  readonly reason?: string;
}

/** Takes the outcomes of replayed records. */
export interface ReplayOutcomes {
  /**
   * Stores an outcome. Never rejects, and resolves within a limited time, so that the offset of the
   * record is committed even if the store does not answer.
   */
  store(replayId: string, outcome: ReplayOutcome): Promise<void>;
}
