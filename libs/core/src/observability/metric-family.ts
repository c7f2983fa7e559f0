/** One number under its labels: `{ binding: 'orders', cluster: 'default', tier: '0', ... }`. */
export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A counter only grows, until its binding is destroyed; a gauge is as it is now. */
export type MetricType = 'counter' | 'gauge';

export interface MetricFamily {
  /** With dots: `eventbus.records.received`. */
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  /** No two have the same labels. */
  readonly samples: readonly MetricSample[];
}
