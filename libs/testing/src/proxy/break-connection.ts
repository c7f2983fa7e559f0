import type { Socket } from 'node:net';

/**
 * Ends a connection with a reset, as a broken network does. A socket that is being shut down cannot
 * be reset: Node reports EINVAL and never closes the handle, and the process then loops for ever
 * when it ends. Such a socket is destroyed instead.
 */
export function breakConnection(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
