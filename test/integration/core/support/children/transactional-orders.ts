// An application that sends confirmations for each order in a transaction. The test kills it.
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
    // The confirmations of one order go to two partitions: a read_committed consumer must see both
    // or none.
    for (const partition of [0, 1])
      transaction.send({ topic: settings.confirmations, partition, key, value: String(value) });
    await Promise.resolve();
    // A read_committed consumer must not see what this call has sent.
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
          sessionTimeoutMs: '3s',
          heartbeatIntervalMs: '300ms',
          // Limits how long the group waits for a process that was killed while it was joining.
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
