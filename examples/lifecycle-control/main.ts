// Pause and resume a binding, and register another one while the application runs.
import {
  EventBusConnector,
  EventBusModule,
  EventHandler,
  EventPublisher,
  LifecycleManager,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { driver } from '../support/driver.js';
import { until } from '../support/until.js';

const handled: number[] = [];
const tenants: number[] = [];

@Injectable()
class OrderHandlers {
  @EventHandler('orders')
  onOrder({ value }: EventRecord<{ id: number }>): void {
    handled.push(value.id);
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      driver,
      defaults: { provisioning: 'create', topics: { partitions: 1 } },
      bindings: { orders: { topic: 'lifecycle.orders', groupId: 'lifecycle' } },
    }),
  ],
  providers: [OrderHandlers],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const publisher = app.get(EventPublisher);
const lifecycle = app.get(LifecycleManager);

await publisher.publish('orders', { id: 1 }, { key: 'anna' });
await until(() => handled.length === 1);
const paused = await lifecycle.pause('orders', { reason: 'database migration', by: 'anna' });
await publisher.publish('orders', { id: 2 }, { key: 'anna' });
console.log(`${paused.state}: handled ${handled.join(', ')}`);

const resumed = await lifecycle.resume('orders');
await until(() => handled.length === 2);
console.log(`${resumed.state}: handled ${handled.join(', ')}`);

const connector = app.get(EventBusConnector);
const binding = { topic: 'lifecycle.tenant', groupId: 'lifecycle-tenant' };
await connector.register('tenant', binding, ({ value }) => {
  tenants.push((value as { id: number }).id);
});
await publisher.publish('tenant', { id: 3 }, { key: 'tenant' });
await until(() => tenants.length === 1);
console.log(`registered at run time: handled ${tenants.join(', ')}`);
await app.close();
