// Many handlers at work on one partition, while the order of each key is kept.
import {
  EventBusModule,
  EventHandler,
  EventPublisher,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout as sleep } from 'node:timers/promises';
import { driver } from '../support/driver.js';
import { until } from '../support/until.js';

const KEYS = 20;
const RECORDS_PER_KEY = 5;
const numbersByKey = new Map<string | undefined, number[]>();
let running = 0;
let mostRunning = 0;
let handled = 0;

@Injectable()
class MeterHandlers {
  @EventHandler('readings')
  async onReading({ key, value }: EventRecord<{ number: number }>): Promise<void> {
    running += 1;
    mostRunning = Math.max(mostRunning, running);
    await sleep(5);
    const numbers = numbersByKey.get(String(key)) ?? [];
    numbersByKey.set(String(key), [...numbers, value.number]);
    running -= 1;
    handled += 1;
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      driver,
      bindings: {
        readings: {
          topic: 'concurrency.readings',
          groupId: 'concurrency',
          provisioning: 'create',
          topics: { partitions: 1 },
          processing: { by: 'key', maxConcurrency: 10 },
        },
      },
    }),
  ],
  providers: [MeterHandlers],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const publisher = app.get(EventPublisher);
const readings = Array.from({ length: KEYS * RECORDS_PER_KEY }, (_, index) => ({
  key: `meter-${index % KEYS}`,
  number: Math.floor(index / KEYS),
}));
await Promise.all(
  readings.map(({ key, number }) => publisher.publish('readings', { number }, { key })),
);
await until(() => handled === readings.length);

const inOrder = [...numbersByKey.values()].filter((numbers) =>
  numbers.every((number, index) => number === index),
);
console.log(`${handled} records, at most ${mostRunning} handlers at once`);
console.log(`${inOrder.length} of ${KEYS} keys in order`);
await app.close();
