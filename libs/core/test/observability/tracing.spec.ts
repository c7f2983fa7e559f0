import { Injectable } from '@nestjs/common';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import * as conventions from '@opentelemetry/semantic-conventions/incubating';
import {
  AlwaysOffSampler,
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
  type ReadableSpan,
  type SpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { EventHandler } from '../../src/discovery/decorators/event-handler.js';
import { ConfigurationValidationException } from '../../src/errors/configuration-validation-exception.js';
import type { EventContext } from '../../src/model/records/event-context.js';
import { ATTRIBUTES, RENAMED } from '../../src/opentelemetry/attribute-names.js';
import { EventBusTelemetryModule } from '../../src/opentelemetry/index.js';
import { OpenTelemetryTracer } from '../../src/opentelemetry/open-telemetry-tracer.js';
import { EventPublisher } from '../../src/publisher/event-publisher.js';
import { TestBus } from '../support/test-bus.spec-support.js';

let testBus: TestBus;
let exporter: InMemorySpanExporter;
let begun: number;
let isBroken: boolean;

beforeEach(() => {
  testBus = new TestBus();
  exporter = new InMemorySpanExporter();
  begun = 0;
  isBroken = true;
});
afterEach(async () => {
  await testBus.end();
  trace.disable();
  context.disable();
  propagation.disable();
});

function startSdk(...more: readonly SpanProcessor[]): void {
  const counting: SpanProcessor = {
    onStart: () => void begun++,
    onEnd: () => undefined,
    forceFlush: async () => undefined,
    shutdown: async () => undefined,
  };
  const spanProcessors = [counting, new SimpleSpanProcessor(exporter), ...more];
  trace.setGlobalTracerProvider(new BasicTracerProvider({ spanProcessors }));
  context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
  propagation.setGlobalPropagator(new W3CTraceContextPropagator());
}

@Injectable()
class Orders {
  readonly contexts: (string | undefined)[] = [];

  @EventHandler('orders')
  async onOrder(_: unknown, { attempt }: EventContext): Promise<void> {
    await Promise.resolve();
    this.contexts.push(trace.getActiveSpan()?.spanContext().spanId);
    if (isBroken && attempt.total > 0) throw new RangeError('no');
  }
}

const RETRY = { tier0: { maxAttempts: 1 }, tiers: [{ delayMs: 500, maxAttempts: 1 }] };

async function start(options: Parameters<typeof EventBusTelemetryModule.forRoot>[0] = {}) {
  for (const topic of ['orders', 'orders.retry-1', 'orders.DLT']) await testBus.topic(topic);
  const bindings = { orders: { topic: 'orders', groupId: 'shop', retry: RETRY } };
  return testBus.start({
    imports: [testBus.module({ bindings }), EventBusTelemetryModule.forRoot(options)],
    providers: [Orders],
  });
}

const spansOf = (name: string): readonly ReadableSpan[] =>
  exporter.getFinishedSpans().filter((span) => span.name === name);

const processSpans = (): readonly ReadableSpan[] =>
  exporter.getFinishedSpans().filter((span) => span.name.startsWith('process '));

/** Publishes an event that fails in both topics. */
async function liveOf(application: Awaited<ReturnType<typeof start>>): Promise<void> {
  await testBus.done(application.get(EventPublisher).publish('orders', { id: 1 }));
  await testBus.runtime.advance(20_000);
  expect(await testBus.records('orders.DLT')).toHaveLength(1);
}

describe('EventBusTelemetryModule', () => {
  it.each([
    [
      { connectBy: 'parents' },
      "connectBy: must be one of 'link', 'parent'. Did you mean 'parent'?",
    ],
    [{ sampleRatio: 1.5 }, 'sampleRatio: must be a number from 0 (no record) to 1 (every record).'],
    [{ connectBy: 1 }, "connectBy: must be one of 'link', 'parent'."],
    [
      { semanticConventions: '1.40' },
      "semanticConventions: must be one of '1.45', '1.30', 'both'. Did you mean '1.45'?",
    ],
    [
      { conectBy: 'link' },
      "conectBy: there is no option 'conectBy' here. Did you mean 'connectBy'?",
    ],
  ])('refuses %j', (options, message) => {
    const forRoot = () => EventBusTelemetryModule.forRoot(options as object);
    expect(forRoot).toThrow(ConfigurationValidationException);
    expect(forRoot).toThrow(`EventBusTelemetryModule.${message}`);
  });

  it('links the spans of a record in all topics with the span that sent it', async () => {
    startSdk();
    const application = await start();
    await liveOf(application);
    const [send] = spansOf('send orders');
    const spans = processSpans();
    expect(spans.map(({ name }) => name)).toEqual(['process orders', 'process orders.retry-1']);
    for (const span of spans) {
      expect(span.links.map((link) => link.context.spanId)).toEqual([send!.spanContext().spanId]);
      expect(span.spanContext().traceId).not.toBe(send!.spanContext().traceId);
    }
    expect(spans.map(({ attributes }) => attributes['eventbus.outcome'])).toEqual([
      'retried',
      'dead-lettered',
    ]);
  });

  it('continues the trace of the sender with the option parent', async () => {
    startSdk();
    const application = await start({ connectBy: 'parent' });
    await liveOf(application);
    const [send] = spansOf('send orders');
    const [dead] = await testBus.records('orders.DLT');
    const header = dead!.headers.find(({ key }) => key === 'traceparent')?.value?.toString();
    expect(header).toContain(send!.spanContext().traceId);
    for (const span of processSpans()) {
      expect(span.spanContext().traceId).toBe(send!.spanContext().traceId);
      expect(span.parentSpanContext?.spanId).toBe(send!.spanContext().spanId);
    }
  });

  it('calls the handler in the context of its span, and ends every span', async () => {
    startSdk();
    isBroken = false;
    const application = await start();
    await testBus.done(application.get(EventPublisher).publish('orders', 1));
    await testBus.runtime.advance(1_000);
    const [span] = processSpans();
    expect(application.get(Orders).contexts).toEqual([span!.spanContext().spanId]);
    await testBus.end();
    expect(exporter.getFinishedSpans()).toHaveLength(begun);
    const names = new Set(exporter.getFinishedSpans().map(({ name }) => name));
    expect(names).toEqual(
      new Set(['send orders', 'poll orders', 'process orders', 'commit orders']),
    );
  });

  it.each([
    ['1.45', ['messaging.system.name', 'kafka.offset'], ['messaging.system']],
    ['1.30', ['messaging.system', 'messaging.kafka.offset'], ['kafka.offset']],
    ['both', ['messaging.system.name', 'messaging.system', 'kafka.offset'], []],
  ] as const)('writes the attribute names of version %s', async (version, present, absent) => {
    startSdk();
    isBroken = false;
    const application = await start({ semanticConventions: version });
    await testBus.done(application.get(EventPublisher).publish('orders', 1));
    await testBus.runtime.advance(1_000);
    const names = Object.keys(processSpans()[0]!.attributes);
    expect(names).toEqual(expect.arrayContaining([...present]));
    for (const name of absent) expect(names).not.toContain(name);
  });

  it('changes nothing if the SDK throws', async () => {
    const fail = (): never => {
      throw new Error('broken');
    };
    const broken = {
      onStart: fail,
      onEnd: fail,
      forceFlush: async () => {},
      shutdown: async () => {},
    };
    startSdk(broken);
    isBroken = false;
    const application = await start();
    await testBus.done(application.get(EventPublisher).publish('orders', 1));
    await testBus.runtime.advance(1_000);
    expect(await testBus.committed()).toBe(1);
    expect(testBus.log.warnings.join()).toContain('The tracing library threw');
  });

  it.each([
    [0, 0],
    [0.1, 2],
    [0.5, 10],
    [1, 20],
  ])('creates spans for the share %d of records, polls and commits', async (sampleRatio, spans) => {
    startSdk();
    let calls = 0;
    const runtime = { random: () => (calls++ % 10) / 10 };
    const tracer = new OpenTelemetryTracer({ sampleRatio }, testBus.log, runtime);
    const container = {
      ...{ binding: 'orders', cluster: 'default', topic: 'orders', groupId: 'shop', tier: 0 },
      clientId: 'eventbus-orders',
    };
    await testBus.topic('orders');
    await testBus.write('orders', '1');
    const records = await testBus.records('orders');
    for (let call = 0; call < 20; call++) tracer.process(container, records)?.end([]);
    expect(begun).toBe(spans);
    for (let call = 0; call < 20; call++) tracer.polled(container, records, 0);
    expect(begun).toBe(2 * spans);
    for (let call = 0; call < 20; call++) tracer.settled(container, [], 0);
    expect(begun).toBe(3 * spans);
  });

  it('runs the handler in the context of a span that the sampler refuses, and exports nothing', async () => {
    startSdk();
    const provider = new BasicTracerProvider({
      sampler: new AlwaysOffSampler(),
      spanProcessors: [new SimpleSpanProcessor(exporter)],
    });
    trace.disable();
    trace.setGlobalTracerProvider(provider);
    isBroken = false;
    const application = await start();
    await testBus.done(application.get(EventPublisher).publish('orders', 1));
    await testBus.runtime.advance(1_000);
    const [spanId] = application.get(Orders).contexts;
    expect(spanId).toMatch(/^[0-9a-f]{16}$/);
    expect(exporter.getFinishedSpans()).toEqual([]);
    expect(await testBus.committed()).toBe(1);
  });

  it('creates no header and no span without an SDK', async () => {
    isBroken = false;
    const application = await start();
    await testBus.done(application.get(EventPublisher).publish('orders', 1));
    await testBus.runtime.advance(1_000);
    const [record] = await testBus.records('orders');
    expect(record!.headers).toEqual([]);
    expect(await testBus.committed()).toBe(1);
  });
});

describe('The table of attribute names', () => {
  it('has only names of the installed conventions', () => {
    const known = new Set<unknown>(Object.values(conventions));
    const names = [...Object.values(ATTRIBUTES), ...Object.values(RENAMED).map(([name]) => name)];
    expect(names.filter((name) => !known.has(name))).toEqual([]);
  });
});
