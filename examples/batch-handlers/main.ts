// A handler that takes a whole slice of records, and names the record that failed.
import {
  BatchProcessingException,
  EventBusModule,
  EventHandler,
  EventPublisher,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { driver } from '../support/driver.js';
import { until } from '../support/until.js';

const stored = new Set<number>();
let failures = 0;

@Injectable()
class AuditHandlers {
  @EventHandler.Batch('audit')
  onAudit(records: readonly EventRecord<{ id: number }>[]): void {
    for (const [index, { value }] of records.entries()) {
      if (value.id === 3 && failures === 0) {
        failures += 1;
        throw new BatchProcessingException(index, 'the first try fails');
      }
      stored.add(value.id);
    }
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      driver,
      bindings: {
        audit: {
          topic: 'batches.audit',
          groupId: 'batches',
          provisioning: 'create',
          topics: { partitions: 1 },
        },
      },
    }),
  ],
  providers: [AuditHandlers],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const publisher = app.get(EventPublisher);
await Promise.all(
  [1, 2, 3, 4, 5].map((id) => publisher.publish('audit', { id }, { key: 'audit' })),
);
await until(() => stored.size === 5);
console.log(`stored ${[...stored].toSorted((a, b) => a - b).join(', ')} after ${failures} failure`);
await app.close();
