import type { ContainerRegistry } from '../containers/container-registry.js';
import { readBinding } from './binding-reading.js';
import { METRIC_CATALOGUE } from './metric-catalogue.js';
import type { MetricFamily } from './metric-family.js';

/**
 * The figures of all bindings, as plain data. Nothing is registered and nothing is kept here: what
 * is measured anyway is read when somebody asks. A binding that is destroyed takes its figures with
 * it, and one that is registered again begins anew.
 */
export class EventBusMetrics {
  constructor(
    private readonly registry: Pick<ContainerRegistry, 'listAll'>,
    private readonly isEnabled: () => boolean,
  ) {}

  /** All of one moment. Empty where `metrics.enabled` is false. */
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
