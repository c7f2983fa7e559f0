import { createServer, type AddressInfo, type Server } from 'node:net';
import { EventBusConnector, EventBusModule, EventHandler } from '@nest-event-bus/core';
import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import { eventually } from '@nest-event-bus/testing';
import { Injectable, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithKafka } from '../../support/index.js';

@Injectable()
class Handlers {
  @EventHandler('orders')
  handle(): void {}
}

type Options = Parameters<typeof EventBusModule.forRoot>[0];
type Cluster = NonNullable<NonNullable<Options>['clusters']>[string];

const running: { close(): unknown }[] = [];

afterEach(async () => {
  for (const each of running.splice(0)) await each.close();
});

const said: string[] = [];
const write = (message: unknown): void => void said.push(String(message));
const logger = { log: write, warn: write, error: write, debug: write };

async function startWith(
  main: Cluster,
  groupId: string,
  topic = 'orders',
): Promise<INestApplicationContext> {
  class App {}
  const bindings = { orders: { topic, groupId, cluster: 'main' } };
  const bus = EventBusModule.forRoot({ clusters: { main }, bindings });
  const application = await NestFactory.createApplicationContext(
    { module: App, imports: [bus], providers: [Handlers] },
    { logger, abortOnError: false },
  );
  running.push(application);
  return application;
}

/**
 * Starts a server that never responds. Returns its address, the first bytes that it receives, and
 * all requests so far.
 */
async function listener(): Promise<{
  readonly address: string;
  readonly first: Promise<Buffer>;
  readonly requests: readonly string[];
}> {
  let server!: Server;
  const requests: string[] = [];
  const first = new Promise<Buffer>((resolve) => {
    server = createServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', (bytes) => {
        resolve(bytes);
        requests.push(bytes.toString('latin1'));
        socket.destroy();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  running.unshift(server);
  return { address: `127.0.0.1:${(server.address() as AddressInfo).port}`, first, requests };
}

const TLS_HANDSHAKE = 0x16;
const CLIENT_HELLO = 0x01;

describe('The ssl option of a cluster', () => {
  it.each<[string, Cluster['ssl']]>([
    ['true', true],
    ['the options of node:tls', { rejectUnauthorized: false, servername: 'kafka.example' }],
  ])('%s starts a TLS handshake', async (_name, ssl) => {
    const { address, first } = await listener();
    await startWith({ brokers: address, ssl }, 'shop');
    const bytes = await first;
    expect([bytes[0], bytes[5]]).toEqual([TLS_HANDSHAKE, CLIENT_HELLO]);
    const config = bytes.includes('kafka.example');
    expect(config).toBe(typeof ssl === 'object');
  });

  it('false, the default, starts no TLS handshake', async () => {
    const { address, first } = await listener();
    await startWith({ brokers: address }, 'shop');
    expect((await first)[0]).not.toBe(TLS_HANDSHAKE);
  });
});

describe('The clientId option of a cluster', () => {
  it('names the requests that are none of a consumer', async () => {
    const { address, requests } = await listener();
    await startWith({ brokers: address, clientId: 'shop-7' }, 'shop');
    await eventually(() => requests.some((request) => request.includes('shop-7')));
  });
});

describeWithKafka('The clusters of an application', (kafka) => {
  const driver = kafkajs({ brokers: kafka.brokers });
  afterAll(() => driver.close());

  it.each<[string, () => Cluster['brokers']]>([
    ['a list', () => kafka.brokers],
    ['one string', () => kafka.brokers.join(', ')],
    ['one string with an unreachable broker', () => `127.0.0.1:1,${kafka.brokers.join()}`],
  ])(
    'are reached at their brokers (%s), where the name of the container is the client id',
    async (_name, brokers) => {
      const [topic, groupId] = [kafka.unique('orders'), kafka.unique('shop')];
      await driver.admin().createTopics([{ name: topic, partitions: 1 }]);
      await startWith({ brokers: brokers(), clientId: 'shop-7' }, groupId, topic);
      await eventually(
        async () => {
          const { members } = await driver.admin().describeGroup(groupId);
          return members.length === 1 && members[0]?.clientId === 'eventbus-orders';
        },
        { timeoutMs: 60_000 },
      );
    },
  );

  it('fail with the reason if the broker does not support their sasl mechanism, and log no password', async () => {
    const password = 'hunter2-secret';
    const sasl = { mechanism: 'scram-sha-512', username: 'anna', password } as const;
    said.length = 0;
    const application = await startWith({ brokers: kafka.brokers, sasl }, kafka.unique('shop'));
    const health = () => application.get(EventBusConnector).health();
    await eventually(() => /sasl/i.test(JSON.stringify(health())), { timeoutMs: 60_000 });
    expect(health().status).toBe('DOWN');
    expect(JSON.stringify(health()) + said.join()).not.toContain('hunter2-secret');
  });
});
