/** Class of a topic, which decides its thresholds. */
export type AlertClass = 'financial' | 'notification' | 'other';

export type AlertLevel = 'OK' | 'WARNING' | 'CRITICAL';

/** Numbers of the levels in metrics. They never change. */
export const ALERT_LEVEL_CODES: Readonly<Record<AlertLevel, number>> = Object.freeze({
  OK: 0,
  WARNING: 1,
  CRITICAL: 2,
});

/** Lag above which each class is a warning, and critical. */
export const LAG_THRESHOLDS: Readonly<
  Record<AlertClass, { readonly warning: number; readonly critical: number }>
> = Object.freeze({
  financial: { warning: 100, critical: 1_000 },
  notification: { warning: 500, critical: 5_000 },
  other: { warning: 1_000, critical: 10_000 },
});

/** What is compared with its thresholds. */
export interface AlertState {
  readonly of: 'main' | 'tier' | 'dead-letters';
  readonly topic: string;
  /** Retry tier; 0 for the main topic and for dead letters. */
  readonly tier: number;
  readonly measure: 'records' | 'seconds';
  readonly value: number;
  readonly level: AlertLevel;
  /** The threshold that the value is above; undefined with level OK. */
  readonly threshold: number | undefined;
}
