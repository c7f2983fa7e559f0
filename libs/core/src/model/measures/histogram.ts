/** The counts of a histogram at one moment. */
export interface HistogramValues {
  /** Upper bounds of the buckets, in ascending order. A value equal to a bound is in its bucket. */
  readonly bounds: readonly number[];
  /** Number of values per bucket, not cumulative. The last bucket has no upper bound. */
  readonly counts: readonly number[];
  readonly count: number;
  readonly sum: number;
}

/**
 * Counts values in buckets. Recording a value costs a few comparisons and no allocation, so that
 * every record can be measured.
 */
export class Histogram {
  readonly #bounds: Float64Array;
  readonly #counts: Float64Array;
  readonly #sum = new Float64Array(1);

  constructor(readonly bounds: readonly number[]) {
    this.#bounds = Float64Array.from(bounds);
    this.#counts = new Float64Array(bounds.length + 1);
  }

  /** Counts a value, or the same value several times. */
  record(value: number, times = 1): void {
    const bounds = this.#bounds;
    let bucket = 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    this.#counts[bucket]! += times;
    this.#sum[0]! += value * times;
  }

  get values(): HistogramValues {
    const counts = [...this.#counts];
    return {
      bounds: this.bounds,
      counts,
      count: counts.reduce((total, each) => total + each, 0),
      sum: this.#sum[0]!,
    };
  }
}

/** Adds up histograms with the same bounds. */
export function sumOfHistograms(all: readonly HistogramValues[]): HistogramValues | undefined {
  const [first, ...others] = all;
  if (!first) return undefined;
  return others.reduce(
    (sum, one) => ({
      bounds: sum.bounds,
      counts: sum.counts.map((count, index) => count + (one.counts[index] ?? 0)),
      count: sum.count + one.count,
      sum: sum.sum + one.sum,
    }),
    first,
  );
}
