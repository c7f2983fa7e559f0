/** Alerts of a binding's dead letters that have not answered yet; each is given up after `dlt.handlerTimeoutMs`. */
export interface PendingAlerts {
  readonly count: number;
  /** Resolves when there is none. Never rejects. */
  whenEnded(): Promise<void>;
}
