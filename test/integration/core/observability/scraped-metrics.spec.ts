import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import {
  EventHandler,
  EventPublisher,
  KafkaMetrics,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable } from '@nestjs/common';
import {
  scraped,
  type ScrapedSample,
} from '../../../../libs/core/test/support/prometheus-text.spec-support.js';
import { describeWithKafka } from '../../support/index.js';
import {
  kafkaBroker,
  memoryBroker,
  ObservedBus,
  type ObservedBroker,
} from '../support/observed-bus.js';

/** Longer than 70 % of the `maxPollIntervalMs` of the binding `audit`. */
const LONG_CALL_MS = 14_500;

@Injectable()
class Handlers {
  @EventHandler('orders')
  async onOrder({ value }: EventRecord<string>, context: EventContext): Promise<void> {
    const { tier } = context.attempt;
    if (value === 'letter') context.deadLetter('not an order');
    if ((value === 'once' && tier === 0) || value === 'later') throw new RangeError('not now');
    await Promise.resolve();
  }

  @EventHandler.Batch('invoices')
  async onInvoices(): Promise<void> {
    await Promise.resolve();
  }

  @EventHandler('payments')
  async onPayment(): Promise<void> {
    await Promise.reject(Object.assign(new Error('down'), { code: 'ECONNREFUSED' }));
  }

  @EventHandler('audit')
  async onAudit({ value }: EventRecord<string>): Promise<void> {
    if (value === 'long') await sleep(realRuntime, LONG_CALL_MS);
  }
}

/** A scenario with known numbers, and what its scrape must show. */
function itShowsEveryMetric(broker: () => ObservedBroker): void {
  let bus: ObservedBus;

  beforeEach(() => {
    bus = new ObservedBus(broker());
  });
  afterEach(() => bus.end(), 120_000);

  const topicOf = (name: string): string => `${bus.topic}.${name}`;
  const json = (...values: readonly string[]) => values.map((value) => JSON.stringify(value));

  async function start(): Promise<void> {
    const orders = topicOf('orders');
    await bus.createTopics(2, orders, ...[1, 2].map((tier) => `${orders}.retry-${tier}`));
    const others = ['invoices', 'payments', 'audit'].map(topicOf);
    const letters = [orders, ...others].map((name) => `${name}.DLT`);
    await bus.createTopics(1, ...others, ...letters);
    const binding = (name: string, more: object) => ({
      topic: topicOf(name),
      groupId: topicOf(`${name}-group`),
      retry: { tier0: { maxAttempts: 1 }, tiers: [] },
      ...more,
    });
    const tiers = [{ delayMs: 200, maxAttempts: 1 }, { delayMs: '1h' }];
    const circuitBreaker = {
      ...{ enabled: true, slidingWindowSize: 2, minimumNumberOfCalls: 2 },
      waitDurationInOpenStateMs: '1h',
    };
    const bindings = {
      orders: binding('orders', {
        retry: { tier0: { maxAttempts: 1 }, tiers },
        circuitBreaker: { enabled: true },
      }),
      invoices: binding('invoices', {}),
      payments: binding('payments', { circuitBreaker }),
      audit: binding('audit', {
        maxPollIntervalMs: '20s',
        sessionTimeoutMs: '6s',
        heartbeatIntervalMs: '500ms',
        dlt: { publishTimeoutMs: '2s' },
      }),
    };
    await bus.start({ bindings, lag: { intervalMs: 500 } }, { providers: [Handlers] });
  }

  async function act(): Promise<void> {
    const orders = topicOf('orders');
    const publisher = bus.application.get(EventPublisher);
    await publisher.publish('orders', 'ok');
    await publisher.publish('orders', 'ok');
    await bus.write(orders, 0, ...json('ok', 'once', 'later', 'letter'), '{');
    await bus.write(orders, 1, ...json('ok'));
    await bus.write(topicOf('invoices'), 0, ...json('1', '2', '3'));
    await bus.write(topicOf('payments'), 0, ...json('1', '2', '3', '4'));
    await bus.connector.pause('audit');
    await bus.write(topicOf('audit'), 0, ...json('long', 'short', 'short'));
    await bus.connector.resume('audit');
    const own = bus.application.get(KafkaMetrics);
    own.recordMessageSent('own');
    own.stopSendTimer(own.startSendTimer(), 'own');
    const invoices = { binding: 'invoices', outcome: 'succeeded' };
    await bus.untilScraped('eventbus_records_processed_total', invoices, 3);
    await bus.connector.stop('invoices');
    await bus.write(topicOf('invoices'), 0, ...json('4', '5', '6', '7'));
    await bus.untilScraped('eventbus_circuit_state', { binding: 'payments' }, 1);
    await bus.untilScraped('eventbus_consumer_lag', { binding: 'invoices' }, 4);
    await bus.untilScraped('eventbus_records_processed_total', { binding: 'audit' }, 3);
    await bus.untilScraped('eventbus_retry_tier_depth', { binding: 'orders', tier: '2' }, 1);
    await bus.untilScraped('eventbus_dlt_depth', { binding: 'orders' }, 2);
    await bus.untilScraped('eventbus_retry_count_count', { binding: 'orders' }, 7);
    await bus.untilScraped('eventbus_consumer_lag', { binding: 'orders', tier: '0' }, 0);
  }

  /** Every received record has an outcome or is in flight. */
  function expectBalanced(samples: readonly ScrapedSample[]): void {
    for (const { labels, value } of samples) {
      const { binding, tier, ...others } = labels;
      if (binding === undefined || tier === undefined || 'le' in others) continue;
      const of = (name: string) => scraped(samples, `eventbus_records_${name}`, { binding, tier });
      const ended = of('processed_total') + of('returned_total');
      expect(ended + of('in_flight')).toBe(of('received_total'));
      expect(value).toBeGreaterThanOrEqual(0);
    }
  }

  it('shows every metric of the requirements with its value, after a life with all outcomes', async () => {
    await start();
    await act();
    const samples = await bus.scrape();
    expectBalanced(samples);
    const orders = topicOf('orders');
    const value = (name: string, labels: Readonly<Record<string, string>> = {}): number =>
      scraped(samples, name, labels);
    const ofOrders = (name: string, labels: object = {}) =>
      value(`eventbus_${name}`, { binding: 'orders', ...labels });
    const processed = (labels: object) => ofOrders('records_processed_total', labels);
    expect(processed({ tier: '0', outcome: 'succeeded' })).toBe(4);
    expect(processed({ tier: '0', outcome: 'retried' })).toBe(2);
    expect(processed({ tier: '0', outcome: 'dead-lettered', partition: '0' })).toBe(2);
    expect(processed({ tier: '0', outcome: 'dead-lettered', partition: '1' })).toBe(0);
    expect(processed({ tier: '1', outcome: 'succeeded' })).toBe(1);
    expect(processed({ topic: `${orders}.retry-1`, outcome: 'retried' })).toBe(1);
    expect(ofOrders('records_failed_total', { exception: 'RangeError', topic: orders })).toBe(2);
    expect(ofOrders('records_failed_total', { exception: 'RangeError' })).toBe(3);
    expect(ofOrders('records_dlq_total', { topic: orders })).toBe(2);
    const reasons = samples
      .filter(({ name }) => name === 'eventbus_records_dlq_total')
      .map(({ labels: { reason = '' } }) => reason);
    expect(reasons.toSorted()).toEqual(['MANUAL', 'NON_RETRYABLE']);
    // Four records succeeded with one call, one was dead-lettered with one, and one without a call.
    expect(ofOrders('retry_count_count', { tier: '0' })).toBe(6);
    expect(ofOrders('retry_count_bucket', { tier: '0', le: '1' })).toBe(6);
    expect(ofOrders('retry_count_count', { tier: '1' })).toBe(1);
    expect(ofOrders('retry_count_sum', { tier: '1' })).toBe(2);
    const durations = { listenerType: 'SINGLE', outcome: 'succeeded', tier: '0' };
    expect(ofOrders('processing_duration_seconds_count', durations)).toBe(4);
    expect(ofOrders('processing_duration_seconds_bucket', { ...durations, le: '+Inf' })).toBe(4);
    const long = { binding: 'audit', listenerType: 'SINGLE' };
    const longSum = value('eventbus_processing_duration_seconds_sum', long);
    expect(longSum).toBeGreaterThanOrEqual(LONG_CALL_MS / 1_000 - 0.01);
    expect(value('eventbus_batch_size_sum', { binding: 'invoices' })).toBe(3);
    expect(value('eventbus_circuit_state', { binding: 'payments' })).toBe(1);
    expect(ofOrders('circuit_state')).toBe(0);
    expect(value('eventbus_consumer_lag', { binding: 'invoices', partition: '0' })).toBe(4);
    expect(ofOrders('consumer_lag', { tier: '0' })).toBe(0);
    const state = (binding: string) => value('eventbus_container_state', { binding });
    expect(['orders', 'payments', 'invoices'].map(state)).toEqual([1, 2, 3]);
    expect(ofOrders('dlt_depth')).toBe(2);
    expect(ofOrders('retry_tier_depth', { tier: '1' })).toBe(0);
    expect(ofOrders('retry_tier_depth', { tier: '2' })).toBe(1);
    const cut = (binding: string) =>
      value('eventbus_poll_interval_safety_triggered_total', { binding });
    expect(['audit', 'orders'].map(cut)).toEqual([1, 0]);
    const group = topicOf('invoices-group');
    expect(value('kafka_consumer_records_lag_max', { group })).toBe(4);
    expect(value('kafka_consumer_records_consumed_total', { group })).toBe(3);
    expect(value('kafka_consumer_records_consumed_total', { group: topicOf('orders-group') })).toBe(
      8,
    );
    const messages = (name: string, operation: string, topic = orders) =>
      value(`kafka_messaging_${name}`, { topic, operation });
    expect(messages('messages_sent_total', 'sent')).toBe(2);
    expect(messages('messages_sent_total', 'sent', 'own')).toBe(1);
    expect(messages('messages_received_total', 'received')).toBe(8);
    expect(messages('messages_failed_total', 'failed')).toBe(4);
    expect(messages('messages_dlq_total', 'dlq')).toBe(2);
    expect(messages('send_latency_seconds_count', 'send')).toBe(2);
    expect(messages('send_latency_seconds_count', 'send', 'own')).toBe(1);
    expect(messages('process_latency_seconds_count', 'process')).toBe(8);
  }, 600_000);
}

describe('A scrape of /metrics with the memory broker', () => {
  itShowsEveryMetric(memoryBroker);
});

describeWithKafka('A scrape of /metrics with a real broker', ({ brokers }) =>
  itShowsEveryMetric(() => kafkaBroker(brokers)),
);
