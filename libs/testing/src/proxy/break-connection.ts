import type { Socket } from 'node:net';

/**
 * Ends a connection with a reset, as a broken network does.
 *
 * One that is being shut down cannot be reset: Node reports EINVAL, never closes the handle, and a
 * process that ends by itself spins for ever over what is left of it. Such a one is destroyed.
 */
export function breakConnection(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
