/**
 * Running alerts about the dead letters of a binding. Each alert times out after
 * `dlt.handlerTimeoutMs`.
 */
export interface PendingAlerts {
  readonly count: number;
  /** Resolves when no alert runs. Never rejects. */
  whenEnded(): Promise<void>;
}
