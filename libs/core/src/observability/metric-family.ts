import type { HistogramValues } from '../model/measures/histogram.js';

type Labels = Readonly<Record<string, string>>;

/** A value with its labels: `{ binding: 'orders', cluster: 'default', tier: '0', ... }`. */
export interface MetricSample {
  readonly labels: Labels;
  readonly value: number;
}

/** The buckets of a histogram with their labels. */
export interface HistogramSample extends HistogramValues {
  readonly labels: Labels;
}

/** A counter only grows until its binding is destroyed; a gauge is the current value. */
export type MetricType = 'counter' | 'gauge' | 'histogram';

interface FamilyBase {
  /** Name with dots: `eventbus.records.received`. */
  readonly name: string;
  readonly help: string;
  /** Unit of the values. Omitted if they are numbers of things. */
  readonly unit?: 'seconds' | 'bytes';
}

/** Counters or gauges with one name. Each sample has a unique set of labels. */
export interface ValueFamily extends FamilyBase {
  readonly type: 'counter' | 'gauge';
  readonly samples: readonly MetricSample[];
}

/** Histograms with one name. Each sample has a unique set of labels. */
export interface HistogramFamily extends FamilyBase {
  readonly type: 'histogram';
  readonly samples: readonly HistogramSample[];
}

export type MetricFamily = ValueFamily | HistogramFamily;
