import type { PublishValues } from '../model/measures/publish-values.js';
import type { BindingReading } from './binding-reading.js';
import type { KafkaTopicValues } from './kafka-metrics.js';
import type { LagReading } from './lag-catalogue.js';
import type {
  HistogramFamily,
  HistogramSample,
  MetricSample,
  ValueFamily,
} from './metric-family.js';

/** Defines a metric, and reads its samples of one binding. */
export type MetricDefinition =
  | (Omit<ValueFamily, 'samples'> & {
      readonly read: (binding: BindingReading) => readonly MetricSample[];
    })
  | (Omit<HistogramFamily, 'samples'> & {
      readonly read: (binding: BindingReading) => readonly HistogramSample[];
    });

/** Values of the whole bus, read in one step. */
export interface BusReading {
  readonly bindings: readonly BindingReading[];
  readonly publishes: readonly PublishValues[];
  readonly lags: readonly LagReading[];
  /** What the application has counted itself. */
  readonly topics: readonly KafkaTopicValues[];
}

/** Defines a metric whose samples do not belong to one binding. */
export type BusMetricDefinition =
  | (Omit<ValueFamily, 'samples'> & {
      readonly read: (bus: BusReading) => readonly MetricSample[];
    })
  | (Omit<HistogramFamily, 'samples'> & {
      readonly read: (bus: BusReading) => readonly HistogramSample[];
    });
