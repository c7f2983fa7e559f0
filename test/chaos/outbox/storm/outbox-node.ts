// A node of an application with an outbox: it writes events in transactions, and publishes them to
// Kafka. The storm kills and freezes it.
import { randomInt } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { EventBusModule, EventPublisher } from '@nest-event-bus/core';
import { type ClaimedEvent, EventEnvelope, OutboxWriter } from '@nest-event-bus/outbox';
import type { DispatchContext, LeaseRequest, SqlConnection } from '@nest-event-bus/outbox';
import { OutboxModule, type OutboxModuleOptions } from '@nest-event-bus/outbox-nest';
import { OutboxTransactions } from '@nest-event-bus/outbox-nest';
import { BusFaultClassifier, BusListener } from '@nest-event-bus/outbox-nest/bus';
import { PostgresOutboxStore } from '@nest-event-bus/outbox-sql';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Pool } from 'pg';
import type { NodeSettings } from './node-settings.js';

const settings = JSON.parse(process.argv[2] ?? '') as NodeSettings;
const pool = new Pool({ connectionString: settings.databaseUrl, max: 12 });
// A connection that is lost while nobody uses it. The next statement opens another one.
pool.on('error', () => undefined);

/** Remembers when each event was leased, by the clock of the database. */
class RememberingStore extends PostgresOutboxStore {
  readonly leasedAt = new Map<string, number>();

  override async lease(
    connection: SqlConnection,
    request: LeaseRequest,
  ): Promise<readonly ClaimedEvent[]> {
    const events = await super.lease(connection, request);
    for (const { eventId, lockedAt } of events) this.leasedAt.set(eventId, lockedAt ?? 0);
    return events;
  }
}
const store = new RememberingStore();

/** Publishes to the bus, with headers that say who has published an event, and when. */
class TellingListener extends BusListener {
  override onEvents(
    events: readonly EventEnvelope[],
    context?: DispatchContext,
  ): ReturnType<BusListener['onEvents']> {
    const publishedAt = String(Date.now());
    return super.onEvents(
      events.map((event) => {
        const { eventId, eventType, aggregateType, aggregateId, payloadJson } = event;
        const leasedAt = String(store.leasedAt.get(eventId) ?? 0);
        const headers = { node: settings.node, publishedAt, leasedAt };
        return new EventEnvelope({
          eventId,
          eventType,
          aggregateType,
          aggregateId,
          payloadJson,
          headers,
        });
      }),
      context,
    );
  }
}

const { leaseMs } = settings;
const modes: Readonly<Record<NodeSettings['mode'], Partial<OutboxModuleOptions>>> = {
  defaults: { mode: 'multiNode', claimTimeoutMs: leaseMs },
  'all switches': {
    mode: 'leased',
    wake: true,
    intervalMs: 1_000,
    leased: {
      leaseMs,
      order: 'key',
      deadKey: 'block',
      unroutable: 'retry',
      // The storm kills processes again and again, and no event is the cause.
      maxUnfinishedAttempts: 1_000,
      faultClassifier: new BusFaultClassifier(),
    },
  },
};

@Module({
  imports: [
    EventBusModule.forRoot({
      brokers: settings.brokers,
      bindings: { orders: { topic: settings.topic, groupId: settings.topic } },
      bindingsWithoutHandler: 'allow',
    }),
    OutboxModule.forRoot({
      database: pool,
      store,
      routes: [
        {
          aggregate: 'ORDER',
          event: 'CHANGED',
          listener: (get) => new TellingListener(get(EventPublisher), 'orders'),
        },
      ],
      ...modes[settings.mode],
    }),
  ],
})
class NodeModule {}

const application = await NestFactory.createApplicationContext(NodeModule, { logger: false });
const transactions = application.get(OutboxTransactions);
const outbox = application.get(OutboxWriter);

/** Changes some orders, and writes an event for each. The counter of an order is its version. */
const change = (): Promise<boolean> =>
  transactions.transaction(pool, async (client) => {
    const { rows } = await client.query<{ is_over: boolean }>('SELECT is_over FROM storm');
    if (rows[0]?.is_over) return false;
    const keys = new Set(Array.from({ length: 5 }, () => randomInt(settings.keys)));
    const events: EventEnvelope[] = [];
    for (const key of [...keys].sort((one, other) => one - other)) {
      const { rows: changed } = await client.query<{ version: number }>(
        'UPDATE orders SET version = version + 1 WHERE id = $1 RETURNING version',
        [key],
      );
      events.push(
        EventEnvelope.builder('CHANGED')
          .aggregateType('ORDER')
          .aggregateId(String(key))
          .payloadJson(String(changed[0]?.version))
          .build(),
      );
    }
    await outbox.writeAll(events);
    return true;
  });

async function write(): Promise<void> {
  for (let goesOn = true; goesOn; await pause(settings.pauseMs))
    // A lost database ends the transaction, and the next one is tried later.
    goesOn = await change().catch(() => pause(200, true));
}

process.stdout.write('ready\n');
await Promise.all(Array.from({ length: settings.writers }, write));
process.stdout.write('written\n');
