// An application that handles orders in parallel, by key, and prints the completed orders. The test
// kills it.
import { EventBusModule, EventHandler, type EventRecord } from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout } from 'node:timers/promises';

interface Settings {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly groupId: string;
  readonly maxConcurrency: number;
  /** Offset of an order whose handler never ends. */
  readonly stuckAt?: number;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;

@Injectable()
class Handlers {
  @EventHandler('orders')
  async handle({ offset }: EventRecord): Promise<void> {
    if (Number(offset) === settings.stuckAt) await new Promise(() => undefined);
    await setTimeout(Math.random() * 5);
    process.stdout.write(`done ${offset}\n`);
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
          processing: { by: 'key', maxConcurrency: settings.maxConcurrency },
          sessionTimeoutMs: '3s',
          heartbeatIntervalMs: '300ms',
        },
      },
    }),
  ],
  providers: [Handlers],
})
class OrdersModule {}

await NestFactory.createApplicationContext(OrdersModule, { logger: ['error'] });
