// An application that handles orders slowly, prints what it does and waits for SIGTERM.
import { EventBusModule, EventHandler, type EventRecord } from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout } from 'node:timers/promises';

interface Settings {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly groupId: string;
  readonly handlerMs: number;
  readonly drainTimeoutMs: number;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

@Injectable()
class Handlers {
  @EventHandler('orders')
  async handle({ partition, offset }: EventRecord): Promise<void> {
    print({ kind: 'began', partition, offset: offset.toString() });
    await setTimeout(settings.handlerMs);
    print({ kind: 'done', partition, offset: offset.toString() });
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      brokers: settings.brokers,
      shutdown: { drainTimeoutMs: settings.drainTimeoutMs },
      bindings: {
        orders: {
          topic: settings.topic,
          groupId: settings.groupId,
          sessionTimeoutMs: '3s',
          heartbeatIntervalMs: '300ms',
        },
      },
    }),
  ],
  providers: [Handlers],
})
class App {}

const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
print({ kind: 'started' });
