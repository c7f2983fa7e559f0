// Orders become invoices: the invoice and the progress of the order are committed together.
import {
  EventBusModule,
  EventHandler,
  EventPublisher,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { driver } from '../support/driver.js';
import { until } from '../support/until.js';

let calls = 0;
const invoices: number[] = [];

@Injectable()
class Invoicing {
  @EventHandler('orders')
  onOrder({ key, value }: EventRecord<{ id: number }>, { transaction }: EventContext): void {
    calls += 1;
    transaction.send({
      topic: 'transactions.invoices',
      key,
      value: JSON.stringify({ id: value.id }),
    });
    // The first call fails after it has sent: its invoice is never written.
    if (calls === 1) throw new Error('a failure behind the send');
  }

  @EventHandler('invoices')
  onInvoice({ value }: EventRecord<{ id: number }>): void {
    invoices.push(value.id);
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      driver,
      defaults: { provisioning: 'create', topics: { partitions: 1 } },
      bindings: {
        orders: {
          topic: 'transactions.orders',
          groupId: 'transactions',
          transactions: { enabled: true },
        },
        invoices: { topic: 'transactions.invoices', groupId: 'transactions-invoices' },
      },
    }),
  ],
  providers: [Invoicing],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const publisher = app.get(EventPublisher);
await publisher.publish('orders', { id: 1 }, { key: 'anna' });
await publisher.publish('orders', { id: 2 }, { key: 'anna' });
await until(() => invoices.length === 2);
console.log(`${calls} calls, invoices ${invoices.join(', ')}`);
await app.close();
