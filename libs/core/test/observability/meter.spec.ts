import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable } from '@nestjs/common';
import { metrics as api, type Meter } from '@opentelemetry/api';
import {
  AggregationTemporality,
  DataPointType,
  MeterProvider,
  MetricReader,
  type MetricData,
} from '@opentelemetry/sdk-metrics';
import { Registry } from 'prom-client';
import { EventBusConnector } from '../../src/containers/lifecycle/event-bus-connector.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { ConfigurationValidationException } from '../../src/errors/configuration-validation-exception.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import { ALL_METRICS, EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import { EventBusMeterModule } from '../../src/opentelemetry/index.js';
import { EventBusMetricsModule } from '../../src/prometheus/index.js';
import { prometheusName } from '../../src/prometheus/metric-names.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { parseScrape } from '../support/prometheus-text.spec-support.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let provider: MeterProvider | undefined;

beforeEach(() => {
  testBus = new TestBus();
});
afterEach(async () => {
  await testBus.end();
  await provider?.shutdown();
  provider = undefined;
  api.disable();
});

/** Collects when the test asks. */
class AskedReader extends MetricReader {
  protected onForceFlush = async (): Promise<void> => undefined;
  protected onShutdown = async (): Promise<void> => undefined;
}

function startSdk(temporality = AggregationTemporality.CUMULATIVE): AskedReader {
  const reader = new AskedReader({ aggregationTemporalitySelector: () => temporality });
  provider = new MeterProvider({ readers: [reader] });
  api.setGlobalMeterProvider(provider);
  return reader;
}

async function metricsOf(reader: AskedReader): Promise<readonly MetricData[]> {
  const { resourceMetrics, errors } = await reader.collect();
  expect(errors).toEqual([]);
  return resourceMetrics.scopeMetrics.flatMap(({ metrics }) => metrics);
}

interface Value {
  readonly name: string;
  readonly labels: Readonly<Record<string, unknown>>;
  readonly value: unknown;
}

const valuesOf = async (reader: AskedReader): Promise<readonly Value[]> =>
  (await metricsOf(reader)).flatMap(({ descriptor, dataPoints }) =>
    dataPoints.map(({ attributes, value }) => ({
      name: descriptor.name,
      labels: attributes,
      value,
    })),
  );

const valueOf = async (reader: AskedReader, name: string, labels: object = {}) =>
  (await valuesOf(reader))
    .filter((each) => each.name === name)
    .filter((each) => Object.entries(labels).every(([key, value]) => each.labels[key] === value))
    .map(({ value }) => value);

@Injectable()
class Orders {
  @EventHandler('orders')
  async onOrder(_: unknown, { attempt }: EventContext): Promise<void> {
    await sleep(testBus.runtime, 30);
    if (attempt.tier === 0) throw new RangeError('no');
  }

  @EventHandler.Batch('invoices')
  async onInvoices(): Promise<void> {
    await sleep(testBus.runtime, 1_000);
  }
}

const BINDINGS = {
  orders: {
    topic: 'orders',
    groupId: 'shop',
    retry: { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 500 }] },
    circuitBreaker: { enabled: true },
  },
  invoices: { topic: 'invoices', groupId: 'billing', retry: { tiers: [] } },
};

async function start(
  options: Parameters<typeof EventBusMeterModule.forRoot>[0] = {},
  registry = new Registry(),
) {
  for (const topic of ['orders', 'orders.retry-1', 'orders.DLT', 'invoices', 'invoices.DLT'])
    await testBus.topic(topic);
  return testBus.start({
    imports: [
      testBus.module({ bindings: BINDINGS, lag: { intervalMs: 1_000 } }),
      EventBusMetricsModule.forRoot({ registry }),
      EventBusMeterModule.forRoot(options),
    ],
    providers: [Orders],
  });
}

/** Names of instruments, as Prometheus calls their samples. */
const SAMPLE_NAMES = new Map(
  ALL_METRICS.flatMap((family): [string, string][] => {
    const name = prometheusName(family);
    if (family.type !== 'histogram') return [[family.name, name]];
    return ['bucket', 'count', 'sum'].map((part) => [`${family.name}.${part}`, `${name}_${part}`]);
  }),
);

const sorted = (values: readonly Value[]): readonly string[] =>
  values
    .map(({ name, labels, value }) => {
      const entries = Object.entries(labels).sort(([a], [b]) => (a < b ? -1 : 1));
      return JSON.stringify([name, entries, value]);
    })
    .sort();

describe('EventBusMeterModule', () => {
  it('exports the values of /prometheus with a real SDK, each metric and each label', async () => {
    const reader = startSdk();
    const registry = new Registry();
    const application = await start({}, registry);
    await testBus.done(application.get(EventPublisher).publish('orders', { id: 1 }));
    await testBus.write('orders', '2', '{');
    await testBus.write('invoices', '1', '2', '3');
    await testBus.runtime.advance(10_000);
    for (let collection = 0; collection < 2; collection++) {
      const scrape = parseScrape(await registry.metrics());
      const exported = (await valuesOf(reader)).map((each) => ({
        ...each,
        name: SAMPLE_NAMES.get(each.name) ?? `unknown ${each.name}`,
      }));
      expect(exported.length).toBeGreaterThan(300);
      expect(sorted(exported)).toEqual(sorted(scrape));
      await testBus.write('orders', '4');
      await testBus.runtime.advance(10_000);
    }
  });

  it('creates counters for counts and gauges for current values, with units', async () => {
    const reader = startSdk();
    await start();
    await testBus.write('invoices', '1');
    await testBus.runtime.advance(5_000);
    const kinds = Object.fromEntries(
      (await metricsOf(reader)).map(({ descriptor, dataPointType, ...data }) => [
        descriptor.name,
        [DataPointType[dataPointType], 'isMonotonic' in data && data.isMonotonic, descriptor.unit],
      ]),
    );
    expect(kinds).toMatchObject({
      'eventbus.records.received': ['SUM', true, ''],
      'eventbus.container.state': ['GAUGE', false, ''],
      'eventbus.buffered.bytes': ['GAUGE', false, 'By'],
      'eventbus.consumer.lag.seconds': ['GAUGE', false, 's'],
      'eventbus.processing.duration.bucket': ['SUM', true, ''],
      'eventbus.processing.duration.sum': ['SUM', true, 's'],
    });
  });

  it('counts the records of a batch with their share of its time', async () => {
    const reader = startSdk();
    await start();
    await testBus.write('invoices', '1', '2', '3', '4');
    await testBus.runtime.advance(5_000);
    const labels = { binding: 'invoices' };
    expect(await valueOf(reader, 'eventbus.processing.duration.count', labels)).toEqual([4]);
    const [seconds] = await valueOf(reader, 'eventbus.processing.duration.sum', labels);
    expect(seconds).toBeCloseTo(1, 3);
  });

  it('exports increments with a reader that asks for them', async () => {
    const reader = startSdk(AggregationTemporality.DELTA);
    await start();
    const received = () => valueOf(reader, 'eventbus.records.received', { binding: 'invoices' });
    await testBus.write('invoices', '1', '2');
    expect(await received()).toEqual([2]);
    await testBus.write('invoices', '3');
    await testBus.runtime.advance(5_000);
    expect(await received()).toEqual([1]);
  });

  it('sets a gauge to 0 whose cause has ended, although the SDK keeps the last value', async () => {
    const reader = startSdk();
    const application = await start();
    const connector = application.get(EventBusConnector, { strict: false });
    const paused = () => valueOf(reader, 'eventbus.container.paused', { binding: 'invoices' });
    await testBus.done(connector.pause('invoices'));
    expect(await paused()).toEqual([1]);
    await testBus.done(connector.resume('invoices'));
    expect(await paused()).toEqual([0]);
    await testBus.done(connector.pause('invoices'));
    expect(await paused()).toEqual([1]);
  });

  it('sets no gauge to 0 whose value is not known any more', async () => {
    const reader = startSdk();
    const application = await start();
    const connector = application.get(EventBusConnector, { strict: false });
    const name = 'eventbus.consumer.lag.seconds';
    const seconds = () => valueOf(reader, name, { binding: 'invoices' });
    await testBus.done(connector.pause('invoices'));
    await testBus.write('invoices', '1');
    await testBus.runtime.advance(10_000);
    const known = await seconds();
    expect(known).toEqual([expect.any(Number)]);
    expect(known).not.toEqual([0]);
    const metrics = application.get(EventBusMetrics);
    const families = metrics
      .collect()
      .map((each) => (each.name === name ? { ...each, samples: [] } : each));
    jest.spyOn(metrics, 'collect').mockReturnValue(families);
    expect(await seconds()).toEqual(known);
  });

  it('exports the last counts once after the application has closed, and then nothing', async () => {
    const reader = startSdk(AggregationTemporality.DELTA);
    const application = await start();
    const labels = { binding: 'invoices' };
    await valuesOf(reader);
    await testBus.write('invoices', '1', '2', '3');
    await testBus.done(application.close());
    expect(await valueOf(reader, 'eventbus.records.received', labels)).toEqual([3]);
    expect(await valuesOf(reader)).toEqual([]);
  });

  it('adds the attributes of the application to every value', async () => {
    const reader = startSdk();
    await start({ attributes: { app: 'shop' } });
    const values = await valuesOf(reader);
    expect(values.length).toBeGreaterThan(50);
    expect(values.filter(({ labels }) => labels['app'] !== 'shop')).toEqual([]);
  });

  it.each([
    [{ attributes: { tier: 'gold' } }, "must not contain 'tier'"],
    [{ attribute: {} }, "Did you mean 'attributes'?"],
  ])('refuses the options %j', (options: object, message) => {
    expect(() => EventBusMeterModule.forRoot(options)).toThrow(ConfigurationValidationException);
    expect(() => EventBusMeterModule.forRoot(options)).toThrow(message);
  });

  it('warns if there is no SDK to export them', async () => {
    await start();
    expect(testBus.log.warnings.join()).toContain('no MeterProvider is registered');
  });

  it('changes nothing if the meter throws', async () => {
    const broken = { getMeter: (): Meter => new Proxy({} as Meter, { get: fail }) };
    api.setGlobalMeterProvider(broken);
    await start();
    await testBus.write('invoices', '1');
    await testBus.runtime.advance(5_000);
    expect(await testBus.committed('billing')).toBe(1);
    expect(testBus.log.warnings.join()).toContain('The meter of OpenTelemetry threw');
  });

  it('leaves the rest of an export alone if the metrics of the bus cannot be read', async () => {
    const reader = startSdk();
    const own = api.getMeter('own').createCounter('orders.placed');
    own.add(1);
    const application = await start();
    jest.spyOn(application.get(EventBusMetrics), 'collect').mockImplementation(fail);
    expect(await valuesOf(reader)).toEqual([{ name: 'orders.placed', labels: {}, value: 1 }]);
    expect(testBus.log.errors.join()).toContain('could not be read for an export');
    expect(testBus.log.everything.join()).not.toContain('secret');
  });
});

function fail(): never {
  throw new Error('secret');
}
