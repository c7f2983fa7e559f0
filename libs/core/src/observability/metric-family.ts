/** A value with its labels: `{ binding: 'orders', cluster: 'default', tier: '0', ... }`. */
export interface MetricSample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/** A counter only grows until its binding is destroyed; a gauge is the current value. */
export type MetricType = 'counter' | 'gauge';

export interface MetricFamily {
  /** Name with dots: `eventbus.records.received`. */
  readonly name: string;
  readonly type: MetricType;
  readonly help: string;
  /** Samples, each with a unique set of labels. */
  readonly samples: readonly MetricSample[];
}
