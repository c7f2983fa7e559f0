import { faultOf, type Fault } from '@nest-event-bus/core';
import { once } from 'node:events';
import { createServer, type AddressInfo, type Socket } from 'node:net';

/** Returns the error with which the work rejects; fails if it does not reject. */
export async function rejectionOf(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error('nothing was thrown');
}

export async function expectFault(fault: Fault, work: () => unknown): Promise<void> {
  const thrown = await rejectionOf(work);
  expect({ fault: faultOf(thrown), of: String(thrown) }).toEqual({ fault, of: String(thrown) });
}

/** Calls the function with the port of a server that treats every connection this way. */
export async function withServer<T>(
  onConnection: (socket: Socket) => void,
  work: (port: number) => T | Promise<T>,
): Promise<T> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined));
    onConnection(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    return await work((server.address() as AddressInfo).port);
  } finally {
    sockets.forEach((socket) => socket.destroy());
    server.close();
  }
}

/** Returns a port on which no server listens any more. */
export const closedPort = (): Promise<number> =>
  withServer(
    () => undefined,
    (port) => port,
  );
