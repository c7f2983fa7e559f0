/** What is remembered of a record that has failed, and stayed in its place. */
export interface FailureSummary {
  /** Of its first call that failed here: milliseconds since 1970. */
  readonly since: number;
  /** Of the error with which it failed; `varied` where there were several. */
  readonly fingerprint: string;
}
