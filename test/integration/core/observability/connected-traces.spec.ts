import { DltReplayService, EventHandler, EventPublisher } from '@nest-event-bus/core';
import { EventBusTelemetryModule } from '@nest-event-bus/core/opentelemetry';
import { Injectable } from '@nestjs/common';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider, BatchSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { describeWithKafka } from '../../support/index.js';
import { CollectorExporter, CollectorStub, type CollectedSpan } from '../support/collector-stub.js';
import {
  kafkaBroker,
  memoryBroker,
  ObservedBus,
  type ObservedBroker,
} from '../support/observed-bus.js';

let isRepaired: boolean;
let batches: number;

@Injectable()
class Handlers {
  @EventHandler('orders')
  async onOrder(): Promise<void> {
    const span = trace.getTracer('shop').startSpan('reserve stock');
    await Promise.resolve();
    span.end();
    if (!isRepaired) throw new RangeError('out of stock');
  }

  @EventHandler.Batch('invoices')
  async onInvoices(): Promise<void> {
    batches++;
    await Promise.resolve();
  }
}

/** Exports to the stub, as an application exports to its collector. */
function startSdk(url: string): BasicTracerProvider {
  const processor = new BatchSpanProcessor(new CollectorExporter(url));
  const provider = new BasicTracerProvider({ spanProcessors: [processor] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
  return provider;
}

/** Returns the ids of all spans that parents and links connect with this one. */
function connectedWith(first: CollectedSpan, spans: readonly CollectedSpan[]): Set<string> {
  const found = new Set([first.spanId]);
  const edges = spans.flatMap(({ spanId, parentSpanId, links }) =>
    [...links, ...(parentSpanId ? [parentSpanId] : [])].map((other) => [spanId, other] as const),
  );
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const [one, other] of edges) {
      if (found.has(one)) found.add(other);
      if (found.has(other)) found.add(one);
    }
  }
  return found;
}

function itConnectsEveryStation(broker: () => ObservedBroker): void {
  let bus: ObservedBus;
  let collector: CollectorStub;
  let sdk: BasicTracerProvider;

  beforeEach(async () => {
    isRepaired = false;
    batches = 0;
    collector = await CollectorStub.start();
    sdk = startSdk(collector.url);
    bus = new ObservedBus(broker());
  });

  afterEach(async () => {
    await bus.end();
    await sdk.shutdown();
    await collector.stop();
    trace.disable();
    context.disable();
    propagation.disable();
  }, 120_000);

  /** Publishes, fails in both topics, redrives and succeeds. Returns all spans. */
  async function live(connectBy: 'link' | 'parent'): Promise<readonly CollectedSpan[]> {
    const { topic } = bus;
    const invoices = `${topic}.invoices`;
    await bus.createTopics(1, topic, `${topic}.retry-1`, `${topic}.DLT`);
    await bus.createTopics(1, invoices, `${invoices}.DLT`);
    const retry = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 200, maxAttempts: 1 }] };
    const bindings = {
      orders: { topic, groupId: `${topic}-group`, retry, provisioning: 'create' as const },
      invoices: { topic: invoices, groupId: `${invoices}-group`, retry: { tiers: [] } },
    };
    await bus.start(
      { bindings },
      { imports: [EventBusTelemetryModule.forRoot({ connectBy })], providers: [Handlers] },
    );
    const publisher = bus.application.get(EventPublisher);
    await publisher.publish('orders', { id: 1 });
    const orders = { binding: 'orders' };
    const processed = 'eventbus_records_processed_total';
    await bus.untilScraped(processed, { ...orders, outcome: 'dead-lettered' }, 1);
    isRepaired = true;
    const replay = bus.application.get(DltReplayService);
    expect(await replay.replay('orders', { all: true })).toMatchObject({ replayed: 1 });
    await bus.untilScraped(processed, { ...orders, outcome: 'succeeded' }, 1);
    await bus.connector.pause('invoices');
    await publisher.publishAll(
      'invoices',
      [1, 2, 3].map((id) => ({ event: { id } })),
    );
    await bus.connector.resume('invoices');
    await bus.untilScraped(processed, { binding: 'invoices', outcome: 'succeeded' }, 3);
    await bus.application.close();
    await sdk.forceFlush();
    return collector.spans;
  }

  const named = (spans: readonly CollectedSpan[], name: string) =>
    spans.filter((span) => span.name === name);

  const stations = (spans: readonly CollectedSpan[]) =>
    [bus.topic, `${bus.topic}.retry-1`]
      .flatMap((topic) => named(spans, `process ${topic}`))
      .map(({ attributes }) => attributes['eventbus.outcome']);

  it('has one trace with parents, through the tier, the dead letter and the redrive', async () => {
    const spans = await live('parent');
    expect(stations(spans)).toEqual(['retried', 'succeeded', 'dead-lettered']);
    const [send, ...others] = named(spans, `send ${bus.topic}`);
    expect(others).toEqual([]);
    const ofTrace = spans.filter(({ traceId }) => traceId === send!.traceId);
    expect(ofTrace.map(({ name }) => name).toSorted()).toEqual(
      [
        `send ${bus.topic}`,
        `process ${bus.topic}`,
        `process ${bus.topic}.retry-1`,
        `process ${bus.topic}`,
        ...['reserve stock', 'reserve stock', 'reserve stock'],
      ].toSorted(),
    );
    const known = new Set(ofTrace.map(({ spanId }) => spanId));
    const roots = ofTrace.filter(({ parentSpanId }) => !known.has(parentSpanId ?? ''));
    expect(roots).toEqual([send]);
  });

  it('is connected by links by default, and a batch links to the send of its records', async () => {
    const spans = await live('link');
    expect(stations(spans)).toEqual(['retried', 'succeeded', 'dead-lettered']);
    const connected = connectedWith(named(spans, `send ${bus.topic}`)[0]!, spans);
    const wanted = spans.filter(
      ({ name }) => name === 'reserve stock' || /^(send|process) /.test(name),
    );
    const invoices = `${bus.topic}.invoices`;
    const ofOrders = wanted.filter(({ name }) => !name.endsWith(invoices));
    expect(ofOrders).toHaveLength(7);
    expect(ofOrders.filter(({ spanId }) => !connected.has(spanId))).toEqual([]);
    const [sent] = named(spans, `send ${invoices}`);
    const processed = named(spans, `process ${invoices}`);
    expect(processed).toHaveLength(batches);
    const links = processed.flatMap((span) => span.links);
    expect(links).toEqual([sent, sent, sent].map((span) => span!.spanId));
  });
}

describe('The trace of a record at a collector, with the memory broker', () => {
  itConnectsEveryStation(memoryBroker);
});

describeWithKafka('The trace of a record at a collector, with a real broker', ({ brokers }) =>
  itConnectsEveryStation(() => kafkaBroker(brokers)),
);
