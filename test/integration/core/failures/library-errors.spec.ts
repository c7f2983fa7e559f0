import { once } from 'node:events';
import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { unique } from '@nest-event-bus/testing';
import { Redis } from 'ioredis';
import { describeWithService } from '../../support/index.js';
import { closedPort, expectFault, withServer } from '../../support/thrown-errors.js';

const get = (port: number, init?: RequestInit): Promise<string> =>
  fetch(`http://127.0.0.1:${port}`, init).then((response) => response.text());

describe('The fault of an error that Node throws', () => {
  it("is 'dependency' for a closed port", () =>
    expectFault('dependency', async () => {
      const socket = connect(await closedPort(), '127.0.0.1');
      await once(socket, 'connect');
    }));

  it("is 'dependency' for an unknown host", () =>
    expectFault('dependency', () => lookup('nowhere.invalid')));

  it("is 'unknown' for cancelled work", () =>
    expectFault('unknown', () => {
      const controller = new AbortController();
      controller.abort();
      controller.signal.throwIfAborted();
    }));

  it("is 'unknown' for a programming mistake", () =>
    expectFault('unknown', () => (undefined as never as { name: string }).name.length));
});

describe('The fault of an error that fetch throws', () => {
  it("is 'dependency' for a closed port", () =>
    expectFault('dependency', async () => get(await closedPort())));

  it("is 'dependency' for an unknown host", () =>
    expectFault('dependency', () => fetch('http://nowhere.invalid')));

  it("is 'dependency' for a closed connection", () =>
    expectFault('dependency', () => withServer((socket) => socket.destroy(), get)));

  it("is 'dependency' for a connection that is closed during the response", () =>
    expectFault('dependency', () =>
      withServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf');
        setTimeout(() => socket.destroy(), 20);
      }, get),
    ));

  it("is 'dependency' for a timeout", () =>
    expectFault('dependency', () =>
      withServer(
        () => undefined,
        (port) => get(port, { signal: AbortSignal.timeout(30) }),
      ),
    ));

  it("is 'unknown' for an invalid address", () => expectFault('unknown', () => fetch('nonsense')));
});

describe('The fault of an error that ioredis throws without a server', () => {
  const getFrom = async (options: object): Promise<unknown> => {
    const port = await closedPort();
    const redis = new Redis({
      port,
      ...options,
      retryStrategy: (times) => (times < 4 ? 5 : null),
    }).on('error', () => undefined);
    const hasEnded = new Promise((resolve) => redis.once('end', resolve));
    try {
      return await redis.get('x');
    } finally {
      await hasEnded;
    }
  };

  it("is 'dependency' after all retries", () =>
    expectFault('dependency', () => getFrom({ maxRetriesPerRequest: 1 })));

  it("is 'dependency' without an offline queue", () =>
    expectFault('dependency', () => getFrom({ enableOfflineQueue: false })));
});

describeWithService('Redis', 'The fault of an error that ioredis throws', (url) => {
  const key = unique('faults');
  let redis: Redis;

  beforeAll(() => {
    redis = new Redis(url).on('error', () => undefined);
  });

  afterAll(async () => {
    await redis.del(key);
    redis.disconnect();
  });

  it.each(['READONLY', 'LOADING', 'CLUSTERDOWN', 'MASTERDOWN', 'OOM', 'MISCONF', 'TRYAGAIN'])(
    "is 'dependency' for the server error %s",
    (error) =>
      expectFault('dependency', () =>
        redis.eval(`return redis.error_reply('${error} for now')`, 0),
      ),
  );

  it("is 'dependency' for a refused login", () =>
    expectFault('dependency', () => redis.call('AUTH', 'nobody_at_all', 'x')));

  it("is 'unknown' for a key of another type", async () => {
    await redis.set(key, 'text');
    await expectFault('unknown', () => redis.lpush(key, 'item'));
  });

  it("is 'dependency' for a command timeout", () =>
    expectFault('dependency', async () => {
      const slow = new Redis(url, { commandTimeout: 20 }).on('error', () => undefined);
      await slow.blpop(unique('nothing'), 1).finally(() => slow.disconnect());
    }));

  it("is 'dependency' for a closed client", () =>
    expectFault('dependency', async () => {
      const closed = new Redis(url).on('error', () => undefined);
      await closed.ping();
      closed.disconnect();
      await closed.get('x');
    }));
});
