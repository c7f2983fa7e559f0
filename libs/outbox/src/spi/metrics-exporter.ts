/** Counts what the outbox does. */
export interface MetricsExporter {
  incrementHotEnqueued(): void;
  incrementHotDropped(): void;
  incrementColdEnqueued(): void;
  incrementDispatchSuccess(): void;
  /** A dispatch has failed and will be repeated. */
  incrementDispatchFailure(): void;
  /** An event became DEAD. */
  incrementDispatchDead(): void;
  recordQueueDepths(hot: number, cold: number): void;
  /** The age of the oldest event that a poll has found; 0 if it found none. */
  recordOldestLagMs(lagMs: number): void;
}

const nothing = (): void => undefined;

export const MetricsExporter = Object.freeze({
  NOOP: Object.freeze<MetricsExporter>({
    incrementHotEnqueued: nothing,
    incrementHotDropped: nothing,
    incrementColdEnqueued: nothing,
    incrementDispatchSuccess: nothing,
    incrementDispatchFailure: nothing,
    incrementDispatchDead: nothing,
    recordQueueDepths: nothing,
    recordOldestLagMs: nothing,
  }),
});
