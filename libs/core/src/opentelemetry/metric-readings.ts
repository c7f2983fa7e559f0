import type { HistogramSample, MetricFamily } from '../observability/metric-family.js';

/** One value for an instrument. */
export interface MetricReading {
  /** Name of the instrument. */
  readonly name: string;
  readonly isGauge: boolean;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

/**
 * Returns the values of all families. A histogram has three counters, because the API of
 * OpenTelemetry takes only single values into its own histograms.
 */
export function readingsOf(families: readonly MetricFamily[]): readonly MetricReading[] {
  return families.flatMap((family): readonly MetricReading[] => {
    if (family.type === 'histogram')
      return family.samples.flatMap((sample) => histogramReadings(family.name, sample));
    const { name } = family;
    const isGauge = family.type === 'gauge';
    return family.samples.map(({ labels, value }) => ({ name, isGauge, labels, value }));
  });
}

/** The buckets are cumulative, as those of Prometheus. */
function histogramReadings(
  name: string,
  { bounds, counts, count, sum, labels }: HistogramSample,
): readonly MetricReading[] {
  let value = 0;
  const buckets = counts.map((own, index) => {
    value += own;
    const le = String(bounds[index] ?? '+Inf');
    return { name: `${name}.bucket`, isGauge: false, labels: { ...labels, le }, value };
  });
  return [
    ...buckets,
    { name: `${name}.count`, isGauge: false, labels, value: count },
    { name: `${name}.sum`, isGauge: false, labels, value: sum },
  ];
}
