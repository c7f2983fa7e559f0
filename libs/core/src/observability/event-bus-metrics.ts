import type { PublishValues } from '../model/measures/publish-values.js';
import type { ContainerRegistration } from '../containers/container-registration.js';
import type { ContainerRegistry } from '../containers/container-registry.js';
import type { ShutdownGate } from '../containers/shutdown/shutdown-gate.js';
import { readBinding } from './binding-reading.js';
import type { KafkaMetrics } from './kafka-metrics.js';
import { LAG_CATALOGUE, type LagReading } from './lag-catalogue.js';
import { MEASURE_CATALOGUE } from './measure-catalogue.js';
import { MESSAGING_CATALOGUE } from './messaging-catalogue.js';
import { METRIC_CATALOGUE } from './metric-catalogue.js';
import type { BusMetricDefinition, MetricDefinition } from './metric-definition.js';
import type { HistogramSample, MetricFamily, MetricSample } from './metric-family.js';

type Sample = MetricSample | HistogramSample;

/** All metrics, in the order of the reference. */
export const ALL_METRICS: readonly (MetricDefinition | BusMetricDefinition)[] = [
  ...METRIC_CATALOGUE,
  ...MEASURE_CATALOGUE,
  ...MESSAGING_CATALOGUE,
  ...LAG_CATALOGUE,
];

export interface EventBusMetricsParts {
  readonly registry: Pick<ContainerRegistry, 'listAll' | 'onChange'>;
  readonly shutdownGate: Pick<ShutdownGate, 'isOpen'>;
  readonly isEnabled: () => boolean;
  readonly publishes: { readonly values: readonly PublishValues[] };
  readonly topics: Pick<KafkaMetrics, 'values'>;
  readonly lags: () => readonly LagReading[];
}

/**
 * The metrics of all bindings as plain data. There is no global registry and no copy of the values:
 * `collect` reads them from the containers. The metrics of a binding end when it is destroyed, and
 * start at zero when it is registered again. Those of a shutdown remain, so that an exporter can read
 * what the drain has done.
 */
export class EventBusMetrics {
  readonly #shutDown: ContainerRegistration[] = [];

  constructor(private readonly parts: EventBusMetricsParts) {
    const { registry, shutdownGate } = parts;
    registry.onChange(({ kind, registration }) => {
      if (kind === 'unregistered' && !shutdownGate.isOpen) this.#shutDown.push(registration);
    });
  }

  /** Returns the current values of all metrics, or an empty list if `metrics.enabled` is false. */
  collect(): readonly MetricFamily[] {
    const { registry, isEnabled, publishes, topics, lags } = this.parts;
    if (!isEnabled()) return [];
    const bindings = [...registry.listAll(), ...this.#shutDown].map(readBinding);
    const bus = { bindings, publishes: publishes.values, topics: topics.values, lags: lags() };
    return [
      ...[...METRIC_CATALOGUE, ...MEASURE_CATALOGUE].map(({ read, ...family }) => {
        const samples = bindings.flatMap((binding): readonly Sample[] => read(binding));
        return { ...family, samples } as MetricFamily;
      }),
      ...[...MESSAGING_CATALOGUE, ...LAG_CATALOGUE].map(
        ({ read, ...family }) => ({ ...family, samples: read(bus) }) as MetricFamily,
      ),
    ];
  }
}
