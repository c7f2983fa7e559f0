// An application that handles orders one by one or slice by slice, and keeps a journal of it. It is killed.
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { EventBusModule, EventHandler, type EventRecord } from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout } from 'node:timers/promises';
import { Journal } from './journal.js';

interface Settings {
  readonly brokers: readonly string[];
  readonly journal: string;
  readonly binding: { readonly topic: string; readonly groupId: string };
  readonly takesSlices: boolean;
  /** How long a call takes at most. */
  readonly workMs: number;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const journal = new Journal(settings.journal);
const work = (): Promise<void> => setTimeout(Math.random() * settings.workMs);

@Injectable()
class OneByOne {
  @EventHandler('orders')
  async handle({ partition, offset }: EventRecord): Promise<void> {
    journal.began(partition, offset);
    await work();
    journal.done(partition, offset);
  }
}

@Injectable()
class BySlices {
  @EventHandler.Batch('orders')
  async handle(records: readonly EventRecord[]): Promise<void> {
    for (const { partition, offset } of records) journal.began(partition, offset);
    await work();
    for (const { partition, offset } of records) journal.done(partition, offset);
  }
}

const driver = journal.watching(kafkajs({ brokers: settings.brokers }));

@Module({
  imports: [EventBusModule.forRoot({ driver, bindings: { orders: settings.binding } })],
  providers: [settings.takesSlices ? BySlices : OneByOne],
})
class OrdersModule {}

await NestFactory.createApplicationContext(OrdersModule, { logger: ['error'] });
