import { createServer } from 'node:net';
import type { Runtime } from '@nest-event-bus/broker/runtime';

/**
 * Ports below the range that systems use for outgoing connections (32768 and up on Linux, 49152
 * elsewhere). In that range, a client that reconnects to the port of a killed broker could get the
 * same port on its own side, and would then be connected to itself.
 */
const FIRST_PORT = 20_000;
const PORTS = 12_000;

const ATTEMPTS = 3;

/**
 * Calls `use` with free ports. Calls it again with other ports if one of them was taken meanwhile.
 */
export async function onFreePorts<T>(
  runtime: Runtime,
  count: number,
  use: (ports: readonly number[]) => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    const ports = await freePorts(runtime, count);
    try {
      return await use(ports);
    } catch (error) {
      if (attempt === ATTEMPTS || !saysPortTaken(error)) throw error;
    }
  }
}

/** Recognises the error messages of Node, Java and Erlang. */
function saysPortTaken(error: unknown): boolean {
  return /EADDRINUSE|Address already in use/i.test(String(error));
}

async function freePorts(runtime: Runtime, count: number): Promise<number[]> {
  const ports = new Set<number>();
  for (let attempt = 0; ports.size < count; attempt++) {
    if (attempt > 100 + 10 * count) throw new Error('No free TCP port found on 127.0.0.1.');
    const port = FIRST_PORT + Math.floor(runtime.random() * PORTS);
    if (!ports.has(port) && (await isFree(port))) ports.add(port);
  }
  return [...ports];
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen({ port, host: '127.0.0.1', exclusive: true }, () => {
      server.close(() => resolve(true));
    });
  });
}
