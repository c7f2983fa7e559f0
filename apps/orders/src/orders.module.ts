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

/** An in-process broker, or the real one that KAFKA_BROKERS names. */
const driver = brokers ? kafkajs({ brokers }) : memory();

@Module({
  imports: [
    EventBusModule.forRoot({
      driver,
      bindings: {
        orders: {
          topic: 'orders.events',
          groupId: 'order-service',
          // Creates the topic with the retry and dead-letter topics of failed orders.
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
