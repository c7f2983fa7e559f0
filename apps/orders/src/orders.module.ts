import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { memory } from '@nest-event-bus/broker/memory';
import { EventBusAdminModule, EventBusModule } from '@nest-event-bus/core';
import { EventBusMetricsModule } from '@nest-event-bus/core/prometheus';
import { EventBusHealthModule } from '@nest-event-bus/core/terminus';
import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { busOptions } from './bindings.js';
import { Catalogue } from './faults/catalogue.js';
import { Dependencies } from './faults/dependencies.js';
import { NotificationHandlers } from './handlers/notification-handlers.js';
import { OrderHandlers } from './handlers/order-handlers.js';
import { PaymentHandlers } from './handlers/payment-handlers.js';
import { FaultsController } from './http/faults.controller.js';
import { HealthController } from './http/health.controller.js';
import { LocalGuard } from './http/local-guard.js';
import { ShopController } from './http/shop.controller.js';
import { settings } from './settings.js';
import { Books } from './traffic/books.js';
import { Shop } from './traffic/shop.js';
import { Traffic } from './traffic/traffic.js';

/** Uses an in-process broker, or the Kafka that KAFKA_BROKERS names. */
const driver = settings.brokers ? kafkajs({ brokers: settings.brokers }) : memory();

@Module({
  imports: [
    EventBusModule.forRoot({ ...busOptions, driver }),
    EventBusHealthModule,
    EventBusAdminModule.register({
      access: { guards: [LocalGuard] },
      allow: ['read', 'payload', 'control', 'redrive', 'purge'],
    }),
    EventBusMetricsModule.forRoot({ endpoint: '/metrics' }),
    TerminusModule,
  ],
  controllers: [HealthController, ShopController, FaultsController],
  providers: [
    OrderHandlers,
    PaymentHandlers,
    NotificationHandlers,
    Books,
    Catalogue,
    Dependencies,
    Shop,
    Traffic,
  ],
})
export class OrdersModule {}
