/** Running alerts about dead letters of a binding. Each of them times out after `dlt.handlerTimeoutMs`. */
export interface PendingAlerts {
  readonly count: number;
  /** Resolves when no alert runs. Never rejects. */
  whenEnded(): Promise<void>;
}
