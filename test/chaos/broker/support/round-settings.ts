export interface RoundSettings {
  readonly brokers: readonly string[];
  readonly seed: number;
  readonly sessionTimeoutMs: number;
  /** The longest quiet time between two incidents. */
  readonly mostQuietMs: number;
}
