import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { memory } from '@nest-event-bus/broker/memory';
import { EventBusModule } from '@nest-event-bus/core';
import { OutboxModule } from '@nest-event-bus/outbox-nest';
import { BusFaultClassifier, toBinding } from '@nest-event-bus/outbox-nest/bus';
import { Module } from '@nestjs/common';
import { Bank } from './bank.js';
import { database } from './database.js';
import { Orders } from './orders.js';
import { ShopController } from './shop.controller.js';
import { Warehouse } from './warehouse.js';

const brokers = process.env['KAFKA_BROKERS'];

@Module({
  imports: [
    EventBusModule.forRoot({
      driver: brokers ? kafkajs({ brokers }) : memory(),
      bindings: {
        orders: { topic: 'shop.orders', groupId: 'warehouse', provisioning: 'create' },
      },
    }),
    OutboxModule.forRoot({
      database: database.pool,
      mode: 'leased',
      intervalMs: 500,
      maxAttempts: 2,
      leased: { faultClassifier: new BusFaultClassifier(), deadKey: 'block' },
      routes: [{ aggregate: 'ORDER', event: 'PLACED', listener: toBinding('orders') }],
    }),
  ],
  controllers: [ShopController],
  providers: [Orders, Warehouse, Bank],
})
export class ShopModule {}
