// An application whose handler always fails. Prints each call, and when it has joined its groups. The test
// kills it.
import {
  ContainerRegistry,
  EventBusConnector,
  EventBusModule,
  EventHandler,
  type EventContext,
  type EventRecord,
} from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { setTimeout } from 'node:timers/promises';

interface Settings {
  readonly brokers: readonly string[];
  readonly binding: { readonly topic: string; readonly groupId: string };
}

const STATUS_EVERY_MS = 5_000;
const { brokers, binding } = JSON.parse(process.argv[2] ?? '') as Settings;

@Injectable()
class Handlers {
  @EventHandler('orders')
  async handle({ value }: EventRecord, { attempt }: EventContext): Promise<void> {
    process.stdout.write(`called ${String(value)} in tier ${attempt.tier}\n`);
    await setTimeout(Math.random() * 5);
    throw new Error('the warehouse does not answer');
  }
}

@Module({
  imports: [EventBusModule.forRoot({ brokers, bindings: { orders: binding } })],
  providers: [Handlers],
})
class OrdersModule {}

const application = await NestFactory.createApplicationContext(OrdersModule, { logger: ['error'] });
const { mainContainer, retryTierContainers } = application.get(ContainerRegistry).require('orders');
const containers = [mainContainer, ...retryTierContainers];

// Shows the state of the application if the test fails because it is stuck.
function printStatus(): void {
  const { bindings } = application.get(EventBusConnector).health();
  const all = containers.map(({ id, status: { state, assignment, partitionPauses } }) => ({
    id,
    state,
    assignment: assignment.map(({ partition }) => partition),
    partitionPauses,
  }));
  process.stderr.write(`${JSON.stringify({ all, reasons: bindings[0]?.reasons })}\n`);
}

setInterval(printStatus, STATUS_EVERY_MS);
while (!containers.every(({ status }) => status.state === 'joined')) await setTimeout(20);
process.stdout.write('joined\n');
