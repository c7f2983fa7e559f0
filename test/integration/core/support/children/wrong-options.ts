// An application with several wrong options. It must never reach its last line.
import { EventBusModule, EventHandler } from '@nest-event-bus/core';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const [how, brokers = '', groupId = ''] = process.argv.slice(2);

@Injectable()
class Handlers {
  @EventHandler('orders', { sessionTimeoutMs: 'soon' as never })
  handle(): void {}
}

@Module({
  imports: [
    EventBusModule.forRoot({
      brokers,
      bindings: {
        orders: { topic: 'orders', groupId, concurency: 3 } as never,
        payments: { topic: 'payments', groupId, ackMode: 'AUTO' as never },
      },
    }),
  ],
  providers: [Handlers],
})
class App {}

if (how === 'context') await NestFactory.createApplicationContext(App, { logger: ['error'] });
else await (await NestFactory.create(App, { logger: ['error'] })).listen(0);
process.stdout.write('started\n');
