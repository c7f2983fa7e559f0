// Several event types on one topic, one handler method each, with validated payloads.
import {
  Ctx,
  EventBusModule,
  EventHandler,
  EventPublisher,
  Key,
  Payload,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { IsInt, IsString } from 'class-validator';
import { driver } from '../support/driver.js';
import { until } from '../support/until.js';

class OrderPlaced {
  @IsInt() id!: number;
  @IsString() customer!: string;
}

class OrderCancelled {
  @IsInt() id!: number;
}

let handled = 0;

@Injectable()
class OrderHandlers {
  @EventHandler('orders', { type: 'OrderPlaced', payload: OrderPlaced })
  onPlaced({ value, key }: EventRecord<OrderPlaced, string>): void {
    console.log(`order ${value.id} placed by ${value.customer}, key ${key}`);
    handled += 1;
  }

  @EventHandler('orders', { type: 'OrderCancelled', payload: OrderCancelled })
  onCancelled(
    @Payload() order: OrderCancelled,
    @Key() key: string,
    @Ctx() ctx: EventContext,
  ): void {
    console.log(`order ${order.id} cancelled, key ${key}, attempt ${ctx.attempt.total}`);
    handled += 1;
  }
}

@Module({
  imports: [
    EventBusModule.forRoot({
      driver,
      bindings: {
        orders: { topic: 'handlers.orders', groupId: 'handlers', provisioning: 'create' },
      },
    }),
  ],
  providers: [OrderHandlers],
})
class AppModule {}

const app = await NestFactory.createApplicationContext(AppModule, { logger: ['error'] });
const publisher = app.get(EventPublisher);
const placed = { id: 1, customer: 'Anna' };
await publisher.publish('orders', placed, { key: 'anna', type: 'OrderPlaced' });
await publisher.publish('orders', { id: 1 }, { key: 'anna', type: 'OrderCancelled' });
await until(() => handled === 2);
await app.close();
