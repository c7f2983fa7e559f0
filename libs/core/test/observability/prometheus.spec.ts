import type { AddressInfo } from 'node:net';
import { Injectable, type INestApplication } from '@nestjs/common';
import { PrometheusModule } from '@willsoto/nestjs-prometheus';
import { Counter, register, Registry, type OpenMetricsContentType } from 'prom-client';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { ConfigurationValidationException } from '../../src/errors/configuration-validation-exception.js';
import { ALL_METRICS, EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import { RESERVED_LABELS } from '../../src/observability/reserved-labels.js';
import { EventBusMetricsModule } from '../../src/prometheus/index.js';
import { prometheusName } from '../../src/prometheus/metric-names.js';
import { parseScrape, scraped } from '../support/prometheus-text.spec-support.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let others: TestBus[];

beforeEach(() => {
  testBus = new TestBus();
  others = [];
});
afterEach(async () => {
  for (const bus of [testBus, ...others]) await bus.end();
  register.clear();
});

@Injectable()
class Orders {
  @EventHandler('orders')
  onOrder(): void {}
}

type MetricsOptions = Parameters<typeof EventBusMetricsModule.forRoot>[0];

async function start(
  options: MetricsOptions = {},
  { bus = testBus, records = 1, modules = [] as object[] } = {},
): Promise<INestApplication> {
  await bus.topic('orders');
  const bindings = { orders: { topic: 'orders', groupId: 'shop' } };
  const application = await bus.startHttp(
    {
      imports: [
        bus.module({ bindings }),
        ...(modules as (typeof EventBusMetricsModule)[]),
        EventBusMetricsModule.forRoot(options),
      ],
      providers: [Orders],
    },
    () => undefined,
  );
  await bus.write('orders', ...Array.from({ length: records }, (_, id) => String(id)));
  return application;
}

const scrapeOf = async (registry: Pick<Registry, 'metrics'>) =>
  parseScrape(await registry.metrics());

async function httpGet(application: INestApplication, path: string) {
  await application.listen(0);
  const { port } = (application.getHttpServer() as { address(): AddressInfo }).address();
  const response = await fetch(`http://127.0.0.1:${port}${path}`);
  return { type: response.headers.get('content-type') ?? '', text: await response.text() };
}

describe('EventBusMetricsModule', () => {
  it("shows every metric on the endpoint of the application's PrometheusModule", async () => {
    const application = await start({}, { modules: [PrometheusModule.register()] });
    const { type, text } = await httpGet(application, '/metrics');
    expect(type).toContain('text/plain');
    for (const family of ALL_METRICS) expect(text).toContain(`# TYPE ${prometheusName(family)} `);
    const received = { binding: 'orders', cluster: 'default', topic: 'orders', tier: '0' };
    expect(scraped(parseScrape(text), 'eventbus_records_received_total', received)).toBe(1);
    expect(text).toContain('process_cpu_seconds_total');
  });

  it('has an endpoint of its own, for a registry of its own', async () => {
    const registry = new Registry();
    const application = await start({ registry, endpoint: '/bus-metrics', prefix: 'shop_' });
    const { text } = await httpGet(application, '/bus-metrics');
    expect(scraped(parseScrape(text), 'shop_eventbus_records_received_total')).toBe(1);
    expect(await scrapeOf(register)).toEqual([]);
  });

  it('writes histograms with cumulative buckets, in seconds', async () => {
    await start({}, { records: 3 });
    const samples = await scrapeOf(register);
    const name = 'eventbus_processing_duration_seconds';
    expect(scraped(samples, `${name}_bucket`, { le: '0.001' })).toBe(3);
    expect(scraped(samples, `${name}_bucket`, { le: '+Inf' })).toBe(3);
    expect(scraped(samples, `${name}_count`, { outcome: 'succeeded' })).toBe(3);
    expect(scraped(samples, `${name}_sum`)).toBe(0);
  });

  it('keeps its names with the format OpenMetrics', async () => {
    const registry = new Registry<OpenMetricsContentType>();
    registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    await start({ registry });
    for (let scrape = 0; scrape < 2; scrape++) {
      const text = (await registry.metrics()).replace('# EOF', '');
      expect(scraped(parseScrape(text), 'eventbus_records_received_total', { tier: '0' })).toBe(1);
    }
    await testBus.end();
    expect(registry.getMetricsAsArray()).toEqual([]);
  });

  it('reads all families of a scrape at one moment', async () => {
    const application = await start();
    const collect = jest.spyOn(application.get(EventBusMetrics), 'collect');
    await register.metrics();
    expect(collect).toHaveBeenCalledTimes(1);
    await register.metrics();
    expect(collect).toHaveBeenCalledTimes(2);
  });

  it('removes its metrics at the end, and leaves those of others', async () => {
    const own = new Counter({ name: 'orders_placed_total', help: 'Orders.' });
    own.inc();
    await start();
    expect(register.getSingleMetric('eventbus_records_received_total')).toBeDefined();
    await testBus.end();
    expect(register.getMetricsAsArray().map(({ name }) => name)).toEqual(['orders_placed_total']);
    expect(scraped(await scrapeOf(register), 'orders_placed_total')).toBe(1);
  });

  it('exports the other metrics if one name is taken, and says so', async () => {
    const own = new Counter({ name: 'eventbus_records_received_total', help: 'Not ours.' });
    own.inc(7);
    await start();
    const samples = await scrapeOf(register);
    expect(scraped(samples, 'eventbus_records_received_total')).toBe(7);
    expect(scraped(samples, 'eventbus_records_processed_total')).toBe(1);
    expect(testBus.log.warnings.join()).toContain('set a prefix in EventBusMetricsModule');
    await testBus.end();
    expect(register.getSingleMetric('eventbus_records_received_total')).toBe(own);
  });

  it('keeps two applications apart, on one registry and on two', async () => {
    const other = new TestBus();
    others.push(other);
    await start({}, { records: 1 });
    const second = await start({}, { bus: other, records: 5 });
    const name = 'eventbus_records_received_total';
    const bothOf = async () =>
      (await scrapeOf(register))
        .filter((sample) => sample.name === name && sample.labels['tier'] === '0')
        .map(({ labels, value }) => [labels['eventbus_app'], value]);
    expect(await bothOf()).toEqual([
      [undefined, 1],
      ['2', 5],
    ]);
    await other.done(second.close());
    expect(await bothOf()).toEqual([[undefined, 1]]);
    const third = new TestBus();
    others.push(third);
    const registry = new Registry();
    await start({ registry }, { bus: third, records: 9 });
    expect(await bothOf()).toEqual([[undefined, 1]]);
    expect(scraped(await scrapeOf(registry), name, { tier: '0' })).toBe(9);
  });

  it('adds the labels of the application to every sample', async () => {
    await start({ labels: { app: 'shop' } });
    const samples = await scrapeOf(register);
    expect(samples.length).toBeGreaterThan(20);
    expect(samples.filter(({ labels }) => labels['app'] !== 'shop')).toEqual([]);
  });

  it.each([
    [{ prefix: '1-' }, 'EventBusMetricsModule.prefix'],
    [{ labels: { 'a-b': 'x' } }, 'EventBusMetricsModule.labels'],
    [{ labels: { __app: 'x' } }, 'EventBusMetricsModule.labels'],
  ])('refuses names that Prometheus would refuse: %j', (options, path) => {
    expect(() => EventBusMetricsModule.forRoot(options)).toThrow(ConfigurationValidationException);
    expect(() => EventBusMetricsModule.forRoot(options)).toThrow(path);
  });

  it.each(['binding', 'topic', 'le', 'cluster', 'eventbus_app'])(
    'refuses the label %s, which samples of the bus have already',
    (name) => {
      const options = { labels: { app: 'shop', [name]: 'x' } };
      expect(() => EventBusMetricsModule.forRoot(options)).toThrow(
        `EventBusMetricsModule.labels: must not contain '${name}'`,
      );
    },
  );

  it('refuses every label that a sample has', async () => {
    await start();
    const used = new Set((await scrapeOf(register)).flatMap(({ labels }) => Object.keys(labels)));
    expect(used.size).toBeGreaterThan(8);
    expect([...used].filter((name) => !RESERVED_LABELS.has(name))).toEqual([]);
  });

  it('leaves the rest of a scrape alone if the metrics of the bus cannot be read', async () => {
    new Counter({ name: 'orders_placed_total', help: 'Orders.' }).inc();
    const application = await start();
    jest.spyOn(application.get(EventBusMetrics), 'collect').mockImplementation(() => {
      throw new Error('secret');
    });
    expect(scraped(await scrapeOf(register), 'orders_placed_total')).toBe(1);
    expect(testBus.log.errors.join()).toContain('could not be read for a scrape');
    expect(testBus.log.everything.join()).not.toContain('secret');
  });
});
