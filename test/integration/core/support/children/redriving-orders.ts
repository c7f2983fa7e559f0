// An application that runs a redrive plan. The test kills it.
import { DltReplayService, EventBusModule } from '@nest-event-bus/core';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

interface Settings {
  readonly brokers: readonly string[];
  readonly topic: string;
  readonly groupId: string;
  readonly planId: string;
  readonly rate: number;
}

const { brokers, topic, groupId, planId, rate } = JSON.parse(process.argv[2] ?? '') as Settings;

@Module({
  imports: [
    EventBusModule.forRoot({
      brokers,
      bindings: { orders: { topic, groupId } },
      bindingsWithoutHandler: 'allow',
    }),
  ],
})
class OrdersModule {}

const application = await NestFactory.createApplicationContext(OrdersModule, {
  logger: ['error', 'warn'],
});
const run = application.get(DltReplayService).run('orders', planId, { rate });
for await (const { replayed } of run) process.stdout.write(`replayed ${replayed}\n`);
const { state } = await run;
process.stdout.write(`finished ${state}\n`);
await application.close();
