import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import type { MetricFamily } from '../observability/metric-family.js';

export interface MetricsSourceParts {
  readonly metrics: { collect(): readonly MetricFamily[] };
  /** Labels of all samples of this application. */
  readonly labels: Readonly<Record<string, string>>;
  readonly logger: Pick<DriverLogger, 'error'>;
}

/** The metrics of one application, as a registry reads them. */
export class MetricsSource {
  /** Labels that the registry adds, so that two applications do not have the same samples. */
  ownLabels: Readonly<Record<string, string>> = {};
  #families: ReadonlyMap<string, MetricFamily> | undefined;

  constructor(private readonly parts: MetricsSourceParts) {}

  get labels(): Readonly<Record<string, string>> {
    return { ...this.parts.labels, ...this.ownLabels };
  }

  /**
   * Returns the family with this name. All families that are read in one synchronous step, as a
   * registry does for one scrape, are of the same moment.
   */
  family(name: string): MetricFamily | undefined {
    if (!this.#families) {
      this.#families = new Map(this.#collect().map((family) => [family.name, family]));
      queueMicrotask(() => (this.#families = undefined));
    }
    return this.#families.get(name);
  }

  /** An error leaves out the metrics of the bus, and not those of the whole registry. */
  #collect(): readonly MetricFamily[] {
    try {
      return this.parts.metrics.collect();
    } catch (error) {
      this.parts.logger.error('The metrics of the event bus could not be read for a scrape', {
        reason: errorReasonOf(error),
      });
      return [];
    }
  }
}
