import { once } from 'node:events';
import { lookup } from 'node:dns/promises';
import { connect } from 'node:net';
import { unique } from '@nest-event-bus/testing';
import { Redis } from 'ioredis';
import { describeWithService } from '../support/index.js';
import { closedPort, expectFault, withServer } from '../support/thrown-errors.js';

const get = (port: number, init?: RequestInit): Promise<string> =>
  fetch(`http://127.0.0.1:${port}`, init).then((response) => response.text());

describe('The fault of what Node throws', () => {
  it('a port that nobody listens on', () =>
    expectFault('dependency', async () => {
      const socket = connect(await closedPort(), '127.0.0.1');
      await once(socket, 'connect');
    }));

  it('a name that does not exist', () =>
    expectFault('dependency', () => lookup('nowhere.invalid')));

  it('work that was called off: nobody knows why', () =>
    expectFault('unknown', () => {
      const controller = new AbortController();
      controller.abort();
      controller.signal.throwIfAborted();
    }));

  it('a bug', () =>
    expectFault('unknown', () => (undefined as never as { name: string }).name.length));
});

describe('The fault of what fetch throws', () => {
  it('nobody listens', () => expectFault('dependency', async () => get(await closedPort())));

  it('no such host', () => expectFault('dependency', () => fetch('http://nowhere.invalid')));

  it('the connection is closed', () =>
    expectFault('dependency', () => withServer((socket) => socket.destroy(), get)));

  it('the connection is closed in the middle of the answer', () =>
    expectFault('dependency', () =>
      withServer((socket) => {
        socket.write('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\nhalf');
        setTimeout(() => socket.destroy(), 20);
      }, get),
    ));

  it('no answer in time', () =>
    expectFault('dependency', () =>
      withServer(
        () => undefined,
        (port) => get(port, { signal: AbortSignal.timeout(30) }),
      ),
    ));

  it('an address of nonsense is a bug', () => expectFault('unknown', () => fetch('nonsense')));
});

describe('The fault of what ioredis throws without a server', () => {
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

  it('after all its retries', () =>
    expectFault('dependency', () => getFrom({ maxRetriesPerRequest: 1 })));

  it('without a queue', () =>
    expectFault('dependency', () => getFrom({ enableOfflineQueue: false })));
});

describeWithService('Redis', 'The fault of what ioredis throws', (url) => {
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
    'a server that says %s',
    (word) =>
      expectFault('dependency', () => redis.eval(`return redis.error_reply('${word} for now')`, 0)),
  );

  it('a login that is refused', () =>
    expectFault('dependency', () => redis.call('AUTH', 'nobody_at_all', 'x')));

  it('a key of another type is a bug', async () => {
    await redis.set(key, 'text');
    await expectFault('unknown', () => redis.lpush(key, 'item'));
  });

  it('an answer that takes too long', () =>
    expectFault('dependency', async () => {
      const slow = new Redis(url, { commandTimeout: 20 }).on('error', () => undefined);
      await slow.blpop(unique('nothing'), 1).finally(() => slow.disconnect());
    }));

  it('a client that was closed', () =>
    expectFault('dependency', async () => {
      const closed = new Redis(url).on('error', () => undefined);
      await closed.ping();
      closed.disconnect();
      await closed.get('x');
    }));
});
