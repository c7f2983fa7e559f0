import { BrokerError, ClosedError, type BrokerDriver } from '@nest-event-bus/broker';
import * as contract from '@nest-event-bus/broker/contract';
import * as kafkajs from '@nest-event-bus/broker/kafkajs';
import { memory } from '@nest-event-bus/broker/memory';
import { VirtualRuntime, type Runtime } from '@nest-event-bus/broker/runtime';
import {
  EventBusConnector,
  EventBusModule,
  type EventBusHealth,
  type EventBusModuleOptions,
} from '@nest-event-bus/core';
import { createAdminClient, type AdminBinding } from '@nest-event-bus/core/admin-client';
import { resolveOptions } from '@nest-event-bus/core/internals';
import { fromEnvironment } from '@nest-event-bus/core/presets';
import { EventBusMeterModule, EventBusTelemetryModule } from '@nest-event-bus/core/opentelemetry';
import { EventBusMetricsModule } from '@nest-event-bus/core/prometheus';
import { EventBusScheduleModule } from '@nest-event-bus/core/schedule';
import { EventBusHealthIndicator } from '@nest-event-bus/core/terminus';
import { Message, MessagingModule, type MessagingModuleOptions } from '@nest-event-bus/messaging';
import { rabbitmq } from '@nest-event-bus/messaging/rabbitmq';
import { EventEnvelope, Outbox } from '@nest-event-bus/outbox';
import { storeContract } from '@nest-event-bus/outbox/contract';
import { MemoryOutboxStore } from '@nest-event-bus/outbox/memory';
import { OutboxModule, type OutboxModuleOptions } from '@nest-event-bus/outbox-nest';
import { toBinding } from '@nest-event-bus/outbox-nest/bus';
import { OutboxHealthIndicator } from '@nest-event-bus/outbox-nest/terminus';
import { FakeOutbox } from '@nest-event-bus/outbox-nest/testing';
import { SqlOutboxSchema } from '@nest-event-bus/outbox-sql';
import * as testing from '@nest-event-bus/testing';
import type { DynamicModule } from '@nestjs/common';

/** Compiled but not run: the declarations of every entry point are found and consistent. */
export const driver: BrokerDriver = memory();
export const runtime: Runtime = new VirtualRuntime();
export const error: BrokerError = new ClosedError('closed');
export const options: EventBusModuleOptions = {
  driver,
  bindings: { orders: { topic: 'orders', groupId: 'shop' } },
};
export const bus: DynamicModule = EventBusModule.forRoot(options);
export const metrics: DynamicModule = EventBusMetricsModule.forRoot({ prefix: 'shop_' });
export const tracing: DynamicModule = EventBusTelemetryModule.forRoot({ connectBy: 'parent' });
export const meters: DynamicModule = EventBusMeterModule.forRoot({ attributes: { app: 'shop' } });
export const health = (connector: EventBusConnector): EventBusHealth => connector.health();
export const indicated = (indicator: EventBusHealthIndicator) => indicator.isHealthy('eventbus');
export const paused = (): Promise<AdminBinding> =>
  createAdminClient({ url: '/eventbus' }).pauseBinding({ params: { name: 'orders' } });
export const schedule: typeof EventBusScheduleModule = EventBusScheduleModule;
export const outbox = (options: OutboxModuleOptions): DynamicModule =>
  OutboxModule.forRoot(options);
export const messaging = (options: MessagingModuleOptions): DynamicModule =>
  MessagingModule.forRoot(options);
export const message: Message<string> = Message.of('a', 'orders');
export const envelope: EventEnvelope = EventEnvelope.ofJson('PLACED', '{}');
export const schema: readonly string[] = new SqlOutboxSchema('postgres').sql();
export const outboxParts = {
  MemoryOutboxStore,
  Outbox,
  storeContract,
  toBinding,
  OutboxHealthIndicator,
  FakeOutbox,
};
export const rabbitDriver = (url: string): BrokerDriver => rabbitmq({ url });
export const everything = { contract, kafkajs, testing, fromEnvironment, resolveOptions };

// If the declarations were not found, everything would be `any`, and these lines would compile.
// @ts-expect-error: no such method
driver.missing();
// @ts-expect-error: no such option
export const misspelt: EventBusModuleOptions = { bindngs: {} };
// @ts-expect-error: no such property
envelope.missing();
// @ts-expect-error: no such property
message.missing();
// @ts-expect-error: no such dialect
export const unknownDialect = new SqlOutboxSchema('oracle');
// @ts-expect-error: Nest's own types are found too
bus.missing();
// @ts-expect-error: the indicator's answer is one of Terminus
indicated.call(undefined, 7).missing();
