// One process of a fleet: it handles orders, prints them, and has the admin API.
import {
  EventBusAdminModule,
  EventBusModule,
  EventHandler,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import type { AddressInfo } from 'node:net';

interface Settings {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly groupId: string;
  readonly instance: string;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const { brokers, groupId, instance, topic } = settings;
const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

@Injectable()
class Handlers {
  @EventHandler('orders')
  handle({ value }: EventRecord): void {
    print({ handled: value });
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      brokers,
      fleet: {
        controlTopic: `${topic}.control`,
        provisioning: 'create',
        instance,
        pollIntervalMs: '200ms',
        reportIntervalMs: '1s',
      },
      bindings: {
        orders: {
          topic,
          groupId,
          provisioning: 'create',
          offsetReset: 'earliest',
          sessionTimeoutMs: '6s',
          heartbeatIntervalMs: '500ms',
          retry: { tier0: { maxAttempts: 1 }, tiers: [] },
        },
      },
    }),
    EventBusAdminModule.register({ access: 'unguarded', allow: ['read', 'control', 'redrive'] }),
  ],
  providers: [Handlers],
})
class App {}

const app = await NestFactory.create(App, { logger: ['error', 'warn'] });
app.enableShutdownHooks();
await app.listen(0, '127.0.0.1');
const { port } = (app.getHttpServer() as { address(): AddressInfo }).address();
print({ port });
