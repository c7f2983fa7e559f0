import { EventBusConnector } from '@nest-event-bus/core';
import { NestFactory } from '@nestjs/core';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { banner } from './banner.js';
import { OrdersModule } from './orders.module.js';
import { settings } from './settings.js';
import { Traffic } from './traffic/traffic.js';

// A client that keeps its connection open must not delay the end.
const app = await NestFactory.create(OrdersModule, { forceCloseConnections: true });
app.enableShutdownHooks();
await app.listen(settings.port);
app.get(Traffic).start();

// Lets the log of the start pass, so that the banner stays in sight. A broker that cannot be reached
// must not hide it.
const connector = app.get(EventBusConnector);
for (let waits = 0; waits < 100 && connector.health().status === 'DOWN'; waits += 1)
  await pause(100);

const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
console.log(banner(`http://localhost:${port}`));
