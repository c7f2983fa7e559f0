import { EventPublisher } from '@nest-event-bus/core';
import { NestFactory } from '@nestjs/core';
import type { AddressInfo } from 'node:net';
import type { Server } from 'node:http';
import type { OrderPlaced } from './order-handlers.js';
import { OrdersModule } from './orders.module.js';

const app = await NestFactory.create(OrdersModule);
app.enableShutdownHooks();
await app.listen(process.env['PORT'] ?? 3000);

const publisher = app.get(EventPublisher);
for (const [index, customer] of ['Anna', 'Ben', 'Chris', 'Anna'].entries()) {
  const order: OrderPlaced = { id: index + 1, customer };
  await publisher.publish('orders', order, { key: customer, type: 'OrderPlaced' });
}

const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
console.log(`Place another: curl -d id=5 -d customer=Dora http://localhost:${port}/orders`);
console.log(`How it is:     curl http://localhost:${port}/health      (Ctrl-C drains and ends)`);
