import { NestFactory } from '@nestjs/core';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { database } from './database.js';
import { ShopModule } from './shop.module.js';

// A client that keeps its connection open must not delay the end.
const app = await NestFactory.create(ShopModule, { forceCloseConnections: true });
app.enableShutdownHooks();
await app.listen(Number(process.env['PORT'] ?? 3001));

const { port } = (app.getHttpServer() as Server).address() as AddressInfo;
const url = `http://localhost:${port}`;
console.log(`
The shop runs on ${database.dialect}.

  curl -X POST ${url}/orders -H 'content-type: application/json' -d '{"article":"lamp"}'
  curl ${url}/effects                               the parcels of the warehouse
  curl -X POST ${url}/bank/closed                   refunds fail from now on
  curl -X POST ${url}/orders/<id>/cancel            its event becomes DEAD
  curl ${url}/outbox/dead
  curl -X POST ${url}/bank/open
  curl -X POST ${url}/outbox/dead/<eventId>/replay

Ctrl-C drains and ends.
`);
