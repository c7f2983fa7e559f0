// An application that handles orders with an inbox. It kills itself after a commit of the database
// and before that of the offset.
import {
  EventBusModule,
  EventHandler,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { EventEnvelope, OutboxWriter } from '@nest-event-bus/outbox';
import { Inbox, OutboxModule } from '@nest-event-bus/outbox-nest';
import { inboxMessageOf } from '@nest-event-bus/outbox-nest/bus';
import { Inject, Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Pool } from 'pg';

interface Settings {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly groupId: string;
  readonly databaseUrl: string;
  readonly table: string;
  /** Number of handled orders after which the process kills itself. */
  readonly killAfter?: number;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const { table, killAfter } = settings;
const pool = new Pool({ connectionString: settings.databaseUrl, max: 4 });

@Injectable()
class Orders {
  #handled = 0;

  constructor(
    @Inject(Inbox) private readonly inbox: Inbox,
    @Inject(OutboxWriter) private readonly outbox: OutboxWriter,
  ) {}

  @EventHandler('orders')
  async handle({ value }: EventRecord, context: EventContext): Promise<void> {
    const id = String(value);
    const { kind } = await this.inbox.handle(pool, inboxMessageOf(context), async (client) => {
      await client.query(`INSERT INTO ${table}_data (id) VALUES ($1)`, [id]);
      await this.outbox.write(EventEnvelope.ofJson('ORDER_TAKEN', JSON.stringify(id)));
    });
    process.stdout.write(`${kind} ${id}\n`);
    if (kind === 'handled') this.#handled++;
    if (this.#handled === killAfter) process.kill(process.pid, 'SIGKILL');
  }
}

@Module({
  imports: [
    OutboxModule.forRoot({
      database: pool,
      mode: 'writerOnly',
      storeOptions: { tableName: table },
      inbox: { tableName: `${table}_inbox` },
    }),
    EventBusModule.forRoot({
      brokers: settings.brokers,
      bindings: {
        orders: {
          topic: settings.topic,
          groupId: settings.groupId,
          retry: { tier0: { maxAttempts: 1 }, tiers: [] },
          sessionTimeoutMs: '3s',
          heartbeatIntervalMs: '300ms',
        },
      },
    }),
  ],
  providers: [Orders],
})
class OrdersModule {}

await NestFactory.createApplicationContext(OrdersModule, { logger: ['error'] });
process.stdout.write('started\n');
