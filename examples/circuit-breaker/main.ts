// A dependency is down: the circuit opens, the records stay where they are, and nothing is dead-lettered.
import {
  EventBusModule,
  EventHandler,
  EventPublisher,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { driver } from '../support/driver.js';
import { until } from '../support/until.js';

let isBankUp = false;
let failures = 0;
const paid: number[] = [];

@Injectable()
class PaymentHandlers {
  @EventHandler('payments')
  onPayment({ value }: EventRecord<{ id: number }>): void {
    if (!isBankUp) {
      failures += 1;
      throw Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' });
    }
    paid.push(value.id);
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      driver,
      bindings: {
        payments: {
          topic: 'circuit.payments',
          groupId: 'circuit',
          provisioning: 'create',
          topics: { partitions: 1 },
          circuitBreaker: {
            enabled: true,
            slidingWindowSize: 4,
            minimumNumberOfCalls: 4,
            waitDurationInOpenStateMs: '300ms',
          },
        },
      },
    }),
  ],
  providers: [PaymentHandlers],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const publisher = app.get(EventPublisher);
for (const id of [1, 2, 3]) await publisher.publish('payments', { id }, { key: 'anna' });

await until(() => failures >= 4);
console.log('the bank is down: the circuit opens');
isBankUp = true;
await until(() => paid.length === 3);
console.log(`the bank is back: paid ${paid.join(', ')}, in order`);
await app.close();
