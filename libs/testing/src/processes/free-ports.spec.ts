import { createServer, type Server } from 'node:net';
import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { onFreePorts } from './free-ports.js';

describe('onFreePorts', () => {
  const portsOf = (seed: number, count: number) =>
    onFreePorts(new VirtualRuntime({ seed }), count, (ports) => Promise.resolve(ports));

  it('returns as many different ports as requested, all below the range for outgoing connections', async () => {
    const ports = await portsOf(1, 12);
    expect(new Set(ports).size).toBe(12);
    for (const port of ports) {
      expect(port).toBeGreaterThanOrEqual(20_000);
      expect(port).toBeLessThan(32_000);
    }
  });

  it('skips a port on which another process listens', async () => {
    const [first = 0] = await portsOf(2, 1);
    const server = await listenOn(first);
    try {
      expect(await portsOf(2, 1)).not.toEqual([first]);
    } finally {
      await new Promise((resolve) => server.close(resolve));
    }
  });

  it.each([
    'listen EADDRINUSE: 127.0.0.1',
    'java.net.BindException: Address already in use',
    'Failed to start Ranch listener, reason: eaddrinuse',
  ])('tries other ports if one was taken meanwhile: %s', async (message) => {
    const tried: (readonly number[])[] = [];
    const result = await onFreePorts(new VirtualRuntime(), 2, (ports) => {
      tried.push(ports);
      return tried.length < 3 ? Promise.reject(new Error(message)) : Promise.resolve('up');
    });
    expect(result).toBe('up');
    expect(new Set(tried.flat()).size).toBe(6);
  });

  it('throws after the third attempt that finds a port taken', async () => {
    let tries = 0;
    const trying = onFreePorts(new VirtualRuntime(), 1, () => {
      tries++;
      return Promise.reject(new Error('EADDRINUSE'));
    });
    await expect(trying).rejects.toThrow('EADDRINUSE');
    expect(tries).toBe(3);
  });

  it('does not try other ports after another error', async () => {
    let tries = 0;
    const trying = onFreePorts(new VirtualRuntime(), 1, () => {
      tries++;
      return Promise.reject(new Error('no such class'));
    });
    await expect(trying).rejects.toThrow('no such class');
    expect(tries).toBe(1);
  });
});

function listenOn(port: number): Promise<Server> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen({ port, host: '127.0.0.1' }, () => resolve(server));
  });
}
