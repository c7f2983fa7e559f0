import type { DriverLogger } from '@nest-event-bus/broker';
import type { Metric, Registry } from 'prom-client';
import { ALL_METRICS } from '../observability/event-bus-metrics.js';
import { FamilyMetric } from './family-metric.js';
import { prometheusName } from './metric-names.js';
import type { MetricsSource } from './metrics-source.js';

/** Label of the second and later applications of a process that export to the same registry. */
const APPLICATION_LABEL = 'eventbus_app';

/**
 * Adds the metrics of one application to a registry, and removes them again. Metrics that are in
 * the registry already are used, and metrics of others are left alone.
 */
export class RegistryExport {
  readonly #metrics: FamilyMetric[] = [];

  constructor(
    private readonly registry: Pick<
      Registry,
      'getSingleMetric' | 'registerMetric' | 'removeSingleMetric'
    >,
    private readonly source: MetricsSource,
    private readonly prefix: string,
    private readonly logger: Pick<DriverLogger, 'warn'>,
  ) {}

  add(): void {
    const taken: string[] = [];
    const found = ALL_METRICS.flatMap((family) => {
      const name = prometheusName(family, this.prefix);
      const metric: unknown = this.registry.getSingleMetric(name);
      if (metric instanceof FamilyMetric) return metric;
      if (metric) {
        taken.push(name);
        return [];
      }
      const created = new FamilyMetric(name, family);
      this.registry.registerMetric(created as unknown as Metric);
      return created;
    });
    this.#distinguishFrom(found.flatMap(({ sources }) => sources));
    for (const metric of found) metric.add(this.source);
    this.#metrics.push(...found);
    if (taken.length > 0)
      this.logger.warn(
        'Metrics of the event bus are not exported, because the registry has others of the same name: set a prefix in EventBusMetricsModule',
        { names: taken.join(', ') },
      );
  }

  /** Removes only the metrics that no other application uses. */
  remove(): void {
    for (const metric of this.#metrics.splice(0)) {
      metric.remove(this.source);
      if (metric.sources.length > 0) continue;
      for (const name of new Set([metric.name, `${metric.name}_total`]))
        if ((this.registry.getSingleMetric(name) as unknown) === metric)
          this.registry.removeSingleMetric(name);
    }
  }

  /**
   * Adds a label if another application has the same labels. Otherwise both would have the same
   * samples, and Prometheus would refuse the whole scrape.
   */
  #distinguishFrom(others: readonly MetricsSource[]): void {
    const taken = new Set([...new Set(others)].map(({ labels }) => keyOf(labels)));
    for (let number = 2; taken.has(keyOf(this.source.labels)); number++)
      this.source.ownLabels = { [APPLICATION_LABEL]: String(number) };
  }
}

function keyOf(labels: Readonly<Record<string, string>>): string {
  return JSON.stringify(Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1)));
}
