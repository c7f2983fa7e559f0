import type { HistogramSample, MetricFamily } from '../observability/metric-family.js';
import type { MetricsSource } from './metrics-source.js';

interface PrometheusValue {
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
  readonly metricName?: string;
}

/**
 * A metric in a registry of prom-client. It holds no values: `get` reads them from the applications
 * that export to the registry. Several applications share the metric, because a registry accepts a
 * name once.
 */
export class FamilyMetric {
  readonly type: MetricFamily['type'];
  readonly help: string;
  /** How workers of Node's cluster module are added up. */
  readonly aggregator = 'sum';
  readonly #family: string;
  readonly #sources = new Set<MetricsSource>();

  constructor(
    /** Not read-only: a registry for OpenMetrics removes `_total`. */
    public name: string,
    { name: family, type, help }: Pick<MetricFamily, 'name' | 'type' | 'help'>,
  ) {
    this.#family = family;
    this.type = type;
    this.help = help;
  }

  get sources(): readonly MetricsSource[] {
    return [...this.#sources];
  }

  add(source: MetricsSource): void {
    this.#sources.add(source);
  }

  remove(source: MetricsSource): void {
    this.#sources.delete(source);
  }

  /** Called by the registry for each scrape. */
  async get() {
    const { name, help, type, aggregator } = this;
    const values = this.sources.flatMap((source) => this.#valuesOf(source));
    return { name, help, type, aggregator, values };
  }

  /** Does nothing: the counts belong to the bus, and other exporters read them, too. */
  reset(): void {}

  #valuesOf(source: MetricsSource): readonly PrometheusValue[] {
    const family = source.family(this.#family);
    if (!family) return [];
    const { labels } = source;
    return family.type === 'histogram'
      ? family.samples.flatMap((sample) => this.#bucketsOf(sample, labels))
      : family.samples.map((sample) => ({
          labels: { ...labels, ...sample.labels },
          value: sample.value,
        }));
  }

  /** The buckets of Prometheus are cumulative. */
  #bucketsOf(
    sample: HistogramSample,
    ofSource: Readonly<Record<string, string>>,
  ): readonly PrometheusValue[] {
    const labels = { ...ofSource, ...sample.labels };
    let value = 0;
    const buckets = sample.counts.map((count, index) => {
      value += count;
      const le = sample.bounds[index] ?? '+Inf';
      return { metricName: `${this.name}_bucket`, labels: { ...labels, le }, value };
    });
    return [
      ...buckets,
      { metricName: `${this.name}_sum`, labels, value: sample.sum },
      { metricName: `${this.name}_count`, labels, value: sample.count },
    ];
  }
}
