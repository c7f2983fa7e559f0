import { sleep } from '@nest-event-bus/broker/runtime';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { containersOf } from '../../src/containers/container-registration.js';
import { ContainerRegistry } from '../../src/containers/container-registry.js';
import { LifecycleManager } from '../../src/containers/lifecycle/lifecycle-manager.js';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { EventBusMetrics } from '../../src/observability/event-bus-metrics.js';
import { KafkaMetrics } from '../../src/observability/kafka-metrics.js';
import type { HistogramSample } from '../../src/observability/metric-family.js';
import { memoryIdempotencyStore } from '../../src/pipeline/idempotency/memory-idempotency-store.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let takesMs: number;
let failingCalls: number;

beforeEach(() => {
  testBus = new TestBus();
  takesMs = 20;
  failingCalls = 0;
});
afterEach(() => testBus.end());

type Labels = Readonly<Record<string, string>>;

const samplesOf = (application: INestApplicationContext, name: string, labels: Labels = {}) => {
  const families = application.get(EventBusMetrics, { strict: false }).collect();
  const samples = families.find((family) => family.name === name)?.samples ?? [];
  return samples.filter((sample) =>
    Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
};

const histogramOf = (application: INestApplicationContext, name: string, labels: Labels = {}) => {
  const [sample, ...others] = samplesOf(application, name, labels) as HistogramSample[];
  if (!sample || others.length > 0) throw new Error(`${others.length} more samples of ${name}`);
  return { ...sample, sum: Number(sample.sum.toFixed(3)) };
};

const valueOf = (application: INestApplicationContext, name: string, labels: Labels = {}) =>
  samplesOf(application, name, labels).reduce(
    (sum, sample) => sum + ('value' in sample ? sample.value : 0),
    0,
  );

@Injectable()
class Orders {
  @EventHandler('orders')
  async onOrder(): Promise<void> {
    await sleep(testBus.runtime, takesMs);
    if (failingCalls-- > 0) throw new Error('no');
  }
}

@Injectable()
class BatchOrders {
  @EventHandler.Batch('orders')
  async onOrders(): Promise<void> {
    await sleep(testBus.runtime, 1_000);
  }
}

const ONE_TIER = {
  tier0: { maxAttempts: 1 },
  tiers: [{ delayMs: 10_000, maxAttempts: 2 }],
} as const;

describe('eventbus.records.processed', () => {
  it.each([
    ['partition', undefined],
    ['key', { by: 'key', maxConcurrency: 4 }],
  ])('counts by partition and outcome with processing by %s', async (_, processing) => {
    await testBus.topic('orders', 3);
    await testBus.topic('orders.retry-1', 3);
    const properties = { retry: ONE_TIER, ...(processing && { processing }) };
    const application = await testBus.startOrders([Orders], properties);
    failingCalls = 1;
    await testBus.write('orders', '1');
    await testBus.runtime.advance(1_000);
    const more = [1, 1, 0, 1].map((partition) => ({ partition, value: '1' }));
    await testBus.write('orders', ...more);
    await testBus.runtime.advance(1_000);
    const processed = samplesOf(application, 'eventbus.records.processed', { tier: '0' });
    expect(
      processed.flatMap(({ labels, ...sample }) =>
        'value' in sample && (sample.value > 0 || labels['partition'] === '2')
          ? [[labels['partition'], labels['outcome'], sample.value]]
          : [],
      ),
    ).toEqual([
      ['0', 'succeeded', 1],
      ['0', 'retried', 1],
      ['1', 'succeeded', 3],
      ...['succeeded', 'discarded', 'retried', 'dead-lettered'].map((outcome) => ['2', outcome, 0]),
    ]);
  });

  it('goes on after a restart of the binding', async () => {
    await testBus.topic('orders');
    const application = await testBus.startOrders([Orders]);
    const lifecycle = application.get(LifecycleManager);
    for (let start = 1; start <= 3; start++) {
      await testBus.write('orders', '1', '2');
      await testBus.runtime.advance(1_000);
      expect(valueOf(application, 'eventbus.records.processed', { tier: '0' })).toBe(2 * start);
      await testBus.done(lifecycle.stop('orders'));
      expect(valueOf(application, 'eventbus.records.processed', { tier: '0' })).toBe(2 * start);
      await testBus.done(lifecycle.start('orders'));
    }
  });
});

describe('eventbus.processing.duration', () => {
  it.each([
    ['partition', undefined],
    ['key', { by: 'key', maxConcurrency: 4 }],
  ])('is the time of each record with processing by %s', async (_, processing) => {
    await testBus.topic('orders');
    const application = await testBus.startOrders([Orders], { ...(processing && { processing }) });
    await testBus.write('orders', '1', '2', '3');
    await testBus.runtime.advance(1_000);
    expect(histogramOf(application, 'eventbus.processing.duration')).toMatchObject({
      labels: { binding: 'orders', listenerType: 'SINGLE', outcome: 'succeeded', tier: '0' },
      count: 3,
      sum: 0.06,
    });
  });

  it('is the share of each record of a batch, so that the sum is the time of the call', async () => {
    await testBus.topic('orders');
    const batch = { listenerType: 'BATCH' } as const;
    const application = await testBus.startOrders([BatchOrders], batch);
    await testBus.write('orders', ...Array.from({ length: 10 }, (_, id) => String(id)));
    await testBus.runtime.advance(3_000);
    expect(histogramOf(application, 'eventbus.processing.duration')).toMatchObject({
      labels: { listenerType: 'BATCH' },
      count: 10,
      sum: 1,
    });
    expect(histogramOf(application, 'eventbus.batch.size', { tier: '0' })).toMatchObject({
      count: 1,
      sum: 10,
    });
  });

  it('has its own values for each outcome, so that failures do not distort successes', async () => {
    await testBus.topic('orders');
    await testBus.topic('orders.retry-1');
    const application = await testBus.startOrders([Orders], { retry: ONE_TIER });
    failingCalls = 1;
    await testBus.write('orders', '1', '2');
    await testBus.runtime.advance(5_000);
    const outcomes = samplesOf(application, 'eventbus.processing.duration', { tier: '0' });
    expect(outcomes.map(({ labels }) => labels['outcome'])).toEqual(['succeeded', 'retried']);
  });
});

describe('eventbus.end.to.end.duration', () => {
  it('counts from the timestamp in the first topic, through the retry tiers', async () => {
    await testBus.topic('orders');
    await testBus.topic('orders.retry-1');
    const application = await testBus.startOrders([Orders], { retry: ONE_TIER });
    failingCalls = 1;
    await testBus.write('orders', { value: '1', timestamp: testBus.runtime.now() - 5_000 });
    await testBus.runtime.advance(20_000);
    const ofTier = (tier: string) =>
      histogramOf(application, 'eventbus.end.to.end.duration', { tier });
    expect(ofTier('0').count).toBe(0);
    expect(ofTier('1').count).toBe(1);
    expect(ofTier('1').sum).toBeGreaterThan(15);
    expect(ofTier('1').sum).toBeLessThan(16);
  });
});

describe('eventbus.retry.count', () => {
  it('counts the calls of a record over all tiers, when it is done', async () => {
    for (const topic of ['orders', 'orders.retry-1', 'orders.DLT']) await testBus.topic(topic);
    const application = await testBus.startOrders([Orders], { retry: ONE_TIER });
    await testBus.write('orders', '1', '2', '3', '4');
    await testBus.runtime.advance(1_000);
    failingCalls = 2;
    await testBus.write('orders', '5');
    await testBus.runtime.advance(60_000);
    failingCalls = 3;
    await testBus.write('orders', '6');
    await testBus.runtime.advance(60_000);
    const [main, tier] = samplesOf(application, 'eventbus.retry.count') as HistogramSample[];
    expect(main).toMatchObject({ labels: { tier: '0' }, count: 4, sum: 4 });
    expect(tier).toMatchObject({ labels: { tier: '1' }, count: 2, sum: 6 });
    expect(valueOf(application, 'eventbus.records.dlq')).toBe(1);
  });
});

describe('Metrics besides records', () => {
  it('measure commits, count rebalances and the bytes that are buffered', async () => {
    await testBus.topic('orders');
    const application = await testBus.startOrders([Orders]);
    takesMs = 5_000;
    await testBus.write('orders', JSON.stringify('x'.repeat(1_000)));
    expect(valueOf(application, 'eventbus.buffered.bytes', { tier: '0' })).toBeGreaterThan(1_000);
    await testBus.runtime.advance(10_000);
    expect(valueOf(application, 'eventbus.buffered.bytes')).toBe(0);
    const commits = histogramOf(application, 'eventbus.commit.duration', { tier: '0' });
    expect(commits.count).toBeGreaterThan(0);
    const main = { tier: '0', change: 'assigned' };
    expect(valueOf(application, 'eventbus.rebalances', main)).toBe(1);
    await testBus.done(application.get(LifecycleManager).stop('orders'));
    const revoked = { tier: '0', change: 'revoked' };
    expect(valueOf(application, 'eventbus.rebalances', revoked)).toBe(1);
  });

  it('count duplicates that did not reach their handler', async () => {
    await testBus.topic('orders');
    const store = memoryIdempotencyStore();
    const idempotency = { store, key: { header: 'id' } };
    const application = await testBus.startOrders([Orders], { idempotency });
    const headers = [{ key: 'id', value: '1' }];
    await testBus.write('orders', { value: '1', headers }, { value: '1', headers });
    await testBus.runtime.advance(5_000);
    expect(valueOf(application, 'eventbus.records.duplicates')).toBe(1);
    expect(valueOf(application, 'eventbus.records.processed', { outcome: 'discarded' })).toBe(1);
  });

  it('count what EventPublisher has published, and what it could not publish', async () => {
    await testBus.topic('orders');
    const application = await testBus.startOrders([Orders]);
    const publisher = application.get(EventPublisher);
    await testBus.done(publisher.publish('orders', { id: 1 }));
    await testBus.done(publisher.publishAll('orders', [{ event: 1 }, { event: 2 }]));
    testBus.broker.faults.refuse({ operation: 'produce' }, 'TOPIC_AUTHORIZATION_FAILED');
    await expect(testBus.done(publisher.publish('orders', 3))).rejects.toThrow();
    const results = ['published', 'failed', 'unknown'].map((result) =>
      valueOf(application, 'eventbus.publisher.events', { binding: 'orders', result }),
    );
    expect(results).toEqual([3, 1, 0]);
    expect(histogramOf(application, 'eventbus.publisher.duration').count).toBe(3);
  });

  it('name the client and its group as dashboards for Kafka expect', async () => {
    await testBus.topic('orders');
    await testBus.topic('orders.retry-1');
    const application = await testBus.startOrders([Orders], { retry: ONE_TIER });
    await testBus.write('orders', '1', '2');
    expect(samplesOf(application, 'kafka.consumer.records.consumed', { group: 'shop' })).toEqual([
      { labels: { group: 'shop' }, value: 2 },
    ]);
    const containers = containersOf(application.get(ContainerRegistry).require('orders'));
    const ids: unknown[] = [];
    for (const { groupId } of containers) ids.push((await testBus.members(groupId))[0]?.clientId);
    expect(ids).toEqual(['eventbus-orders', 'eventbus-orders-retry-1']);
  });
});

describe('KafkaMetrics', () => {
  it('adds what the application counts to what the bus has counted, by topic', async () => {
    await testBus.topic('orders');
    const application = await testBus.startOrders([Orders]);
    await testBus.write('orders', '1');
    await testBus.done(application.get(EventPublisher).publish('orders', 2));
    await testBus.runtime.advance(1_000);
    const metrics = application.get(KafkaMetrics);
    const timers = [metrics.startSendTimer(), metrics.startProcessTimer()] as const;
    await testBus.runtime.advance(500);
    metrics.stopSendTimer(timers[0], 'orders');
    metrics.stopProcessTimer(timers[1], 'mails');
    for (const topic of ['orders', 'mails']) {
      metrics.recordMessageSent(topic);
      metrics.recordMessageReceived(topic);
      metrics.recordMessageFailed(topic);
      metrics.recordMessageDlq(topic);
    }
    const values = (name: string) =>
      Object.fromEntries(
        ['orders', 'mails'].map((topic) => [
          topic,
          valueOf(application, `kafka.messaging.messages.${name}`, { topic, operation: name }),
        ]),
      );
    expect(values('sent')).toEqual({ orders: 2, mails: 1 });
    expect(values('received')).toEqual({ orders: 3, mails: 1 });
    expect(values('failed')).toEqual({ orders: 1, mails: 1 });
    expect(values('dlq')).toEqual({ orders: 1, mails: 1 });
    const latency = (name: string, topic: string) =>
      histogramOf(application, `kafka.messaging.${name}.latency`, { topic, operation: name });
    expect(latency('send', 'orders').count).toBe(2);
    expect(latency('process', 'mails')).toMatchObject({ count: 1, sum: 0.5 });
    expect(latency('process', 'orders').count).toBe(2);
  });

  it('keeps at most 500 topics apart', () => {
    const metrics = new KafkaMetrics(testBus.runtime);
    for (let topic = 0; topic < 600; topic++) metrics.recordMessageSent(`topic-${topic}`);
    expect(metrics.values).toHaveLength(501);
    expect(metrics.values.find(({ topic }) => topic === 'other')?.sent).toBe(100);
  });
});
