export interface RoundSettings {
  readonly brokers: readonly string[];
  readonly seed: number;
  readonly sessionTimeoutMs: number;
  /** Longest time between two incidents. */
  readonly longestPauseMs: number;
}
