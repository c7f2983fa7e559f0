import type { Socket } from 'node:net';

/**
 * Ends a connection with a reset, as a broken network does.
 *
 * A socket that is being shut down cannot be reset: Node reports EINVAL and never closes the
 * handle, and at the end the process loops forever on it. Such a socket is destroyed instead.
 */
export function breakConnection(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
