import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { memory } from '@nest-event-bus/broker/memory';
import { EventBusModule } from '@nest-event-bus/core';
import { EventBusHealthModule } from '@nest-event-bus/core/terminus';
import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { HealthController } from './health.controller.js';
import { OrderHandlers } from './order-handlers.js';
import { OrdersController } from './orders.controller.js';

const brokers = process.env['KAFKA_BROKERS'];

/** A broker inside the process, or the real one that KAFKA_BROKERS names. */
const driver = brokers ? kafkajs({ brokers }) : memory();

@Module({
  imports: [
    EventBusModule.forRoot({
      driver,
      bindings: {
        orders: {
          topic: 'orders.events',
          groupId: 'order-service',
          // With the retry and dead-letter topics that a failed order goes to.
          provisioning: 'create',
          topics: { partitions: 3 },
        },
      },
    }),
    EventBusHealthModule,
    TerminusModule,
  ],
  controllers: [HealthController, OrdersController],
  providers: [OrderHandlers],
})
export class OrdersModule {}
