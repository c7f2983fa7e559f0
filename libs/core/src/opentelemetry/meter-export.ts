import { errorReasonOf, type DriverLogger } from '@nest-event-bus/broker';
import type {
  Attributes,
  BatchObservableCallback,
  BatchObservableResult,
  Meter,
  Observable,
} from '@opentelemetry/api';
import { ALL_METRICS } from '../observability/event-bus-metrics.js';
import type { MetricFamily } from '../observability/metric-family.js';
import { readingsOf } from './metric-readings.js';

export interface MeterExportParts {
  readonly metrics: { collect(): readonly MetricFamily[] };
  readonly meter: Meter;
  /** Attributes of all values of this application. */
  readonly attributes: Attributes;
  readonly logger: Pick<DriverLogger, 'error'>;
}

/** The streams of gauges that had a value, by a text that identifies them. */
type GaugeStreams = Map<string, { readonly name: string; readonly attributes: Attributes }>;

/** Gauges that have a value only while their cause lasts, so that absence means 0. */
const ZERO_IF_ABSENT: ReadonlySet<string> = new Set([
  'eventbus.container.paused',
  'eventbus.partitions.paused',
  'eventbus.publish.troubles',
]);

/** Units as OpenTelemetry abbreviates them. */
const UNITS = { seconds: 's', bytes: 'By' } as const;

/**
 * Exports the metrics of one application by observable instruments. An instrument holds no value:
 * its SDK asks for all values of one moment when it exports.
 */
export class MeterExport {
  readonly #instruments = new Map<string, Observable>();
  readonly #callback: BatchObservableCallback = (result) => this.#observe(result);
  #gauges: GaugeStreams = new Map();
  #lastValues: readonly MetricFamily[] | undefined;

  constructor(private readonly parts: MeterExportParts) {}

  add(): void {
    const { meter } = this.parts;
    for (const { name, type, help, unit } of ALL_METRICS) {
      const options = { description: help, ...(unit && { unit: UNITS[unit] }) };
      const counter = (of: string, more: object): void =>
        void this.#instruments.set(of, meter.createObservableCounter(of, more));
      if (type === 'gauge') this.#instruments.set(name, meter.createObservableGauge(name, options));
      else if (type === 'counter') counter(name, options);
      else {
        counter(`${name}.bucket`, { description: help });
        counter(`${name}.count`, { description: help });
        counter(`${name}.sum`, options);
      }
    }
    meter.addBatchObservableCallback(this.#callback, [...this.#instruments.values()]);
  }

  /**
   * Ends the export with the next collection, because an SDK usually exports the last values after
   * the application has closed.
   */
  end(): void {
    this.#lastValues = this.#collect();
  }

  #observe(result: BatchObservableResult): void {
    const isLast = this.#lastValues !== undefined;
    const readings = readingsOf(this.#lastValues ?? this.#collect());
    const current: GaugeStreams = new Map();
    for (const { name, isGauge, labels, value } of readings) {
      if (isGauge && isLast) continue;
      const attributes = { ...this.parts.attributes, ...labels };
      this.#observeValue(result, name, value, attributes);
      if (isGauge) current.set(keyOf(name, attributes), { name, attributes });
    }
    const bindings = new Set([...current.values()].map(({ attributes }) => bindingOf(attributes)));
    // Some SDKs repeat the last value of a gauge for ever, such as a pause that has ended. Of a
    // binding that is still there, any other value is not known now, which is not 0.
    for (const [key, { name, attributes }] of this.#gauges) {
      const isOver = ZERO_IF_ABSENT.has(name) || !bindings.has(bindingOf(attributes));
      if (!current.has(key) && isOver) this.#observeValue(result, name, 0, attributes);
    }
    this.#gauges = current;
    if (isLast)
      this.parts.meter.removeBatchObservableCallback(this.#callback, [
        ...this.#instruments.values(),
      ]);
  }

  #observeValue(
    result: BatchObservableResult,
    name: string,
    value: number,
    attributes: Attributes,
  ): void {
    const instrument = this.#instruments.get(name);
    if (instrument) result.observe(instrument, value, attributes);
  }

  /** An error leaves out the metrics of the bus, and not those of the whole SDK. */
  #collect(): readonly MetricFamily[] {
    try {
      return this.parts.metrics.collect();
    } catch (error) {
      this.parts.logger.error(
        'The metrics of the event bus could not be read for an export by OpenTelemetry',
        { reason: errorReasonOf(error) },
      );
      return [];
    }
  }
}

function bindingOf({ binding, cluster }: Attributes): string {
  return JSON.stringify([cluster, binding]);
}

function keyOf(name: string, attributes: Attributes): string {
  return JSON.stringify([name, ...Object.entries(attributes)]);
}
