import type { ContainerRegistry } from '../containers/container-registry.js';
import { readBinding } from './binding-reading.js';
import { METRIC_CATALOGUE } from './metric-catalogue.js';
import type { MetricFamily } from './metric-family.js';

/**
 * The metrics of all bindings as plain data. There is no global registry and no copy of the values:
 * they are read from the containers when `collect` is called. The metrics of a binding end when it is
 * destroyed, and start from zero when it is registered again.
 */
export class EventBusMetrics {
  constructor(
    private readonly registry: Pick<ContainerRegistry, 'listAll'>,
    private readonly isEnabled: () => boolean,
  ) {}

  /** Returns the current values of all metrics; none if `metrics.enabled` is false. */
  collect(): readonly MetricFamily[] {
    if (!this.isEnabled()) return [];
    const bindings = this.registry.listAll().map(readBinding);
    return METRIC_CATALOGUE.map(({ name, type, help, read }) => ({
      name,
      type,
      help,
      samples: bindings.flatMap(read),
    }));
  }
}
