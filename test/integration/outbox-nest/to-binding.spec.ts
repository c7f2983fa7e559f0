import type { BrokerDriver } from '@nest-event-bus/broker';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { memory } from '@nest-event-bus/broker/memory';
import {
  EventBusModule,
  EventHandler,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { EventBusTelemetryModule } from '@nest-event-bus/core/opentelemetry';
import { EventEnvelope, OutboxWriter } from '@nest-event-bus/outbox';
import { OutboxModule, OutboxTransactions } from '@nest-event-bus/outbox-nest';
import { toBinding } from '@nest-event-bus/outbox-nest/bus';
import { SqlOutboxSchema } from '@nest-event-bus/outbox-sql';
import { eventually, unique } from '@nest-event-bus/testing';
import { Injectable, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { context, propagation, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import { W3CTraceContextPropagator } from '@opentelemetry/core';
import { BasicTracerProvider } from '@opentelemetry/sdk-trace-base';
import { openSqlite } from '../../../libs/outbox-sql/src/stores/sqlite-database.spec-support.js';
import { describeWithKafka } from '../support/index.js';

interface Received {
  readonly value: unknown;
  readonly key: unknown;
  readonly timestamp: number;
  readonly type: string | undefined;
  readonly headers: Readonly<Record<string, string | undefined>>;
  readonly traceId: string | undefined;
}

@Injectable()
class Orders {
  readonly received: Received[] = [];

  @EventHandler('orders')
  onOrder({ value, key, timestamp, headers }: EventRecord, { eventType }: EventContext): void {
    const names = ['message-id', 'x-outbox-event-id', 'tenant'];
    this.received.push({
      ...{ value, key, timestamp, type: eventType },
      headers: Object.fromEntries(names.map((name) => [name, headers.get(name)])),
      traceId: trace.getActiveSpan()?.spanContext().traceId,
    });
  }
}

/** What an application writes to keep the trace of a request. */
function currentTrace(): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  propagation.inject(context.active(), headers);
  return headers;
}

function suite(open: () => BrokerDriver): void {
  const database = openSqlite();
  const topic = unique('orders');
  let driver: BrokerDriver;
  let app: TestingModule;

  beforeAll(async () => {
    trace.setGlobalTracerProvider(new BasicTracerProvider());
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    propagation.setGlobalPropagator(new W3CTraceContextPropagator());
    driver = open();
    await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
    await new SqlOutboxSchema('sqlite').migrate(database);
    @Module({
      imports: [
        EventBusModule.forRoot({
          driver,
          bindings: {
            orders: {
              topic,
              groupId: unique('shop'),
              retry: { tier0: { maxAttempts: 1 }, tiers: [] },
            },
          },
        }),
        EventBusTelemetryModule.forRoot({ connectBy: 'parent' }),
        OutboxModule.forRoot({
          database,
          mode: 'leased',
          headers: currentTrace,
          routes: [{ aggregate: 'ORDER', event: 'PLACED', listener: toBinding('orders') }],
        }),
      ],
      providers: [Orders],
    })
    class App {}
    app = await Test.createTestingModule({ imports: [App] }).compile();
    await app.init();
  }, 180_000);
  afterAll(async () => {
    await app.close();
    await driver.close();
    database.close();
    trace.disable();
    context.disable();
    propagation.disable();
  }, 120_000);

  const placed = (eventId: string, occurredAt: number): EventEnvelope =>
    new EventEnvelope({
      ...{ eventId, eventType: 'PLACED', aggregateType: 'ORDER', aggregateId: 'o-1', occurredAt },
      headers: { tenant: 'shop-1' },
      payloadJson: JSON.stringify({ id: eventId }),
    });

  it('passes payload, key, type, time, headers and id of each event, in its own trace', async () => {
    const ids = ['e1', 'e2', 'e3'];
    const occurredAt = Date.now();
    const traces: (string | undefined)[] = [];
    for (const id of ids)
      await trace.getTracer('test').startActiveSpan(`request ${id}`, async (span) => {
        traces.push(span.spanContext().traceId);
        await app
          .get(OutboxTransactions)
          .transaction(database, () => app.get(OutboxWriter).write(placed(id, occurredAt)));
        span.end();
      });
    const { received } = app.get(Orders);
    await eventually(() => received.length === ids.length, { timeoutMs: 120_000 });
    expect(new Set(traces).size).toBe(ids.length);
    expect(received).toEqual(
      ids.map((id, index) => ({
        value: { id },
        key: 'o-1',
        timestamp: occurredAt,
        type: 'PLACED',
        headers: { 'message-id': id, 'x-outbox-event-id': id, tenant: 'shop-1' },
        traceId: traces[index],
      })),
    );
  }, 180_000);

  it('keeps the trace of each event also in one batch of events of different traces', async () => {
    const { received } = app.get(Orders);
    received.length = 0;
    const traces: (string | undefined)[] = [];
    await app.get(OutboxTransactions).transaction(database, async () => {
      for (const id of ['b1', 'b2', 'b3'])
        await trace.getTracer('test').startActiveSpan(`request ${id}`, async (span) => {
          traces.push(span.spanContext().traceId);
          await app.get(OutboxWriter).write(placed(id, Date.now()));
          span.end();
        });
    });
    await eventually(() => received.length === 3, { timeoutMs: 120_000 });
    expect(received.map(({ traceId }) => traceId)).toEqual(traces);
  }, 180_000);
}

describe('toBinding on the memory broker', () => {
  suite(() => memory());
});

describeWithKafka('toBinding on Kafka', ({ brokers }) => {
  suite(() => kafkajs({ brokers }));
});
