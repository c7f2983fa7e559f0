import { connect, createServer, type Server, type Socket } from 'node:net';
import { realRuntime } from '@nest-event-bus/broker/runtime';
import { eventually } from '../waiting/eventually.js';
import { TcpProxy } from './tcp-proxy.js';

/** A client that keeps the received data. */
class Listener {
  received = '';
  ending: 'open' | 'orderly' | 'broken' = 'open';

  constructor(readonly socket: Socket) {
    socket.on('data', (bytes: Buffer) => (this.received += bytes.toString()));
    socket.on('end', () => (this.ending = 'orderly'));
    socket.on('error', () => (this.ending = 'broken'));
  }

  receives(text: string): Promise<unknown> {
    return eventually(() => this.received === text, {
      description: `"${text}", not "${this.received}"`,
    });
  }
}

describe('TcpProxy', () => {
  let echo: Server;
  let arrived: string;
  let proxy: TcpProxy;
  const listeners: Listener[] = [];

  beforeEach(async () => {
    arrived = '';
    echo = createServer((socket) => {
      socket.on('data', (bytes: Buffer) => (arrived += bytes.toString()));
      // Half of these cases expect a reset.
      socket.on('error', () => socket.destroy());
      socket.pipe(socket);
    });
    await new Promise<void>((resolve) => echo.listen(0, '127.0.0.1', resolve));
    const address = echo.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    proxy = await TcpProxy.listen({ target: `127.0.0.1:${address.port}` });
  });

  afterEach(async () => {
    for (const { socket } of listeners.splice(0)) socket.destroy();
    await proxy.close();
    echo.close();
  });

  function call(): Listener {
    const [host, port] = proxy.address.split(':');
    const listener = new Listener(connect({ host, port: Number(port) }));
    listeners.push(listener);
    return listener;
  }

  async function callAndGreet(): Promise<Listener> {
    const listener = call();
    listener.socket.write('hello');
    await listener.receives('hello');
    return listener;
  }

  it('forwards bytes both ways, and counts bytes and connections', async () => {
    const first = await callAndGreet();
    await callAndGreet();
    expect(proxy.bytes).toEqual({
      toServer: { forwarded: 10, swallowed: 0 },
      toClient: { forwarded: 10, swallowed: 0 },
    });
    expect(proxy.openConnections).toBe(2);
    first.socket.end();
    await eventually(() => proxy.openConnections === 1, { description: 'the first to be gone' });
    expect(first.ending).toBe('orderly');
    expect(proxy.acceptedConnections).toBe(2);
  });

  it('forwards all bytes before a normal end', async () => {
    const listener = call();
    const long = 'x'.repeat(3_000_000);
    listener.socket.end(long);
    await eventually(() => listener.ending === 'orderly', { description: 'the end' });
    expect(listener.received.length).toBe(long.length);
  });

  it('cut breaks open connections and accepts new ones', async () => {
    const first = await callAndGreet();
    proxy.cut();
    await eventually(() => first.ending === 'broken', { description: 'a reset' });
    await eventually(() => proxy.openConnections === 0, { description: 'no connection' });
    await callAndGreet();
  });

  it('refuse rejects new connections until accept, and keeps open ones', async () => {
    const first = await callAndGreet();
    const { address } = proxy;
    await proxy.refuse();
    const second = call();
    await eventually(() => second.ending === 'broken', { description: 'a refusal' });
    first.socket.write('!');
    await first.receives('hello!');
    await proxy.accept();
    expect(proxy.address).toBe(address);
    await callAndGreet();
  });

  it('delay delays each byte by that time, in one direction', async () => {
    const listener = await callAndGreet();
    proxy.delay(150, 'toClient');
    const sentAt = realRuntime.monotonic();
    listener.socket.write('!');
    await eventually(() => arrived === 'hello!', { description: 'arrival at the server' });
    expect(listener.received).toBe('hello');
    await listener.receives('hello!');
    expect(realRuntime.monotonic() - sentAt).toBeGreaterThanOrEqual(149);
  });

  it('forward releases delayed bytes', async () => {
    const listener = await callAndGreet();
    proxy.delay(3_600_000);
    listener.socket.write('!');
    await eventually(() => proxy.openConnections === 1);
    expect(arrived).toBe('hello');
    proxy.forward();
    await listener.receives('hello!');
  });

  it('throttle limits the bytes per second', async () => {
    const listener = await callAndGreet();
    proxy.throttle(10_000, 'toServer');
    const sentAt = realRuntime.monotonic();
    listener.socket.write('x'.repeat(2_000));
    await listener.receives(`hello${'x'.repeat(2_000)}`);
    // The last piece needs no wait after it.
    expect(realRuntime.monotonic() - sentAt).toBeGreaterThanOrEqual(170);
  });

  it.each(['toServer', 'toClient'] as const)(
    'swallow %s drops bytes and keeps the connection',
    async (direction) => {
      const listener = await callAndGreet();
      proxy.swallow(direction);
      listener.socket.write('lost');
      await eventually(() => proxy.bytes[direction].swallowed === 4, { description: 'the loss' });
      expect(arrived).toBe(direction === 'toServer' ? 'hello' : 'hellolost');
      proxy.forward();
      listener.socket.write('found');
      await listener.receives('hellofound');
      expect(listener.ending).toBe('open');
    },
  );

  it('cutAfter ends one connection after exactly so many bytes', async () => {
    const listener = await callAndGreet();
    proxy.cutAfter(3, 'toClient');
    listener.socket.write('answer');
    await eventually(() => listener.ending !== 'open', { description: 'the end' });
    expect(listener.received).toBe('helloans');
    expect(arrived).toBe('helloanswer');
    await callAndGreet();
  });

  it('breaks a connection whose server cannot be reached', async () => {
    await new Promise((resolve) => echo.close(resolve));
    const listener = call();
    await eventually(() => listener.ending === 'broken', { description: 'a reset' });
    expect(proxy.openConnections).toBe(0);
  });
});
