// A payment that the producer sends twice, and that is paid once.
import {
  EventBusModule,
  EventHandler,
  EventPublisher,
  memoryIdempotencyStore,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { driver } from '../support/driver.js';
import { until } from '../support/until.js';

const paid: string[] = [];

@Injectable()
class PaymentHandlers {
  @EventHandler('payments')
  onPayment({ value }: EventRecord<{ id: string }>): void {
    console.log(`pays ${value.id}`);
    paid.push(value.id);
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      driver,
      bindings: {
        payments: {
          topic: 'idempotency.payments',
          groupId: 'idempotency',
          provisioning: 'create',
          topics: { partitions: 1 },
          // One process only. Use redisIdempotencyStore or sqlIdempotencyStore for several.
          idempotency: { store: memoryIdempotencyStore(), key: { header: 'message-id' } },
        },
      },
    }),
  ],
  providers: [PaymentHandlers],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const publisher = app.get(EventPublisher);
for (const id of ['a', 'a', 'b']) {
  await publisher.publish('payments', { id }, { key: id, headers: { 'message-id': id } });
}
await until(() => paid.includes('b'));
console.log(`${paid.length} payments for 3 records`);
await app.close();
