// An application that answers each order with a confirmation in a transaction. It is killed.
import {
  EventBusModule,
  EventHandler,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

interface Settings {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly groupId: string;
  readonly confirmations: string;
  readonly idPrefix: string;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;

@Injectable()
class Handlers {
  @EventHandler('orders')
  async handle({ key, value }: EventRecord, { transaction }: EventContext): Promise<void> {
    // To two partitions, of which a reader sees both or none.
    for (const partition of [0, 1])
      transaction.send({ topic: settings.confirmations, partition, key, value: String(value) });
    await Promise.resolve();
    // What this call has sent is not to be seen.
    if (Math.random() < 0.02) throw new Error('the warehouse does not answer');
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      brokers: settings.brokers,
      bindings: {
        orders: {
          topic: settings.topic,
          groupId: settings.groupId,
          transactions: { enabled: true, idPrefix: settings.idPrefix },
          retry: { tier0: { maxAttempts: 8, initialBackoffMs: 1, maxBackoffMs: 10 }, tiers: [] },
          sessionTimeoutMs: '1s',
          heartbeatIntervalMs: '300ms',
          // A process that is killed while it joins is waited for.
          rebalance: { drainTimeoutMs: 1_000 },
        },
      },
    }),
  ],
  providers: [Handlers],
})
class OrdersModule {}

await NestFactory.createApplicationContext(OrdersModule, { logger: ['error'] });
process.stdout.write('started\n');
