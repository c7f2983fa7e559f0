// An application that handles orders one by one or in batches, and writes a journal. The test kills it.
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { EventBusModule, EventHandler, type EventRecord } from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout } from 'node:timers/promises';
import { JournalWriter } from './journal-writer.js';

interface Settings {
  readonly brokers: readonly string[];
  readonly journal: string;
  readonly binding: { readonly topic: string; readonly groupId: string };
  readonly takesSlices: boolean;
  /** Longest time of a call. */
  readonly workMs: number;
}

const settings = JSON.parse(process.argv[2] ?? '') as Settings;
const journal = new JournalWriter(settings.journal);
const work = (): Promise<void> => setTimeout(Math.random() * settings.workMs);

@Injectable()
class RecordHandler {
  @EventHandler('orders')
  async handle({ partition, offset }: EventRecord): Promise<void> {
    journal.began(partition, offset);
    await work();
    journal.done(partition, offset);
  }
}

@Injectable()
class BatchHandler {
  @EventHandler.Batch('orders')
  async handle(records: readonly EventRecord[]): Promise<void> {
    for (const { partition, offset } of records) journal.began(partition, offset);
    await work();
    for (const { partition, offset } of records) journal.done(partition, offset);
  }
}

const driver = journal.logCommitsOf(kafkajs({ brokers: settings.brokers }));

@Module({
  imports: [EventBusModule.forRoot({ driver, bindings: { orders: settings.binding } })],
  providers: [settings.takesSlices ? BatchHandler : RecordHandler],
})
class OrdersModule {}

await NestFactory.createApplicationContext(OrdersModule, { logger: ['error'] });
