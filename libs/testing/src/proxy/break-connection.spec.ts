import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { breakConnection } from './break-connection.js';

describe('breakConnection', () => {
  let server: Server;
  let accepted: Promise<Socket>;
  let client: Socket;

  beforeEach(async () => {
    server = createServer();
    accepted = once(server, 'connection').then(([socket]) => socket as Socket);
    await once(server.listen(0, '127.0.0.1'), 'listening');
    client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await once(client, 'connect');
  });
  afterEach(async () => {
    (await accepted).destroy();
    server.close();
  });

  it('resets the connection: the other side gets an error', async () => {
    const other = await accepted;
    const error = once(other, 'error');
    breakConnection(client);
    await expect(error).resolves.toMatchObject([{ code: 'ECONNRESET' }]);
  });

  it('closes a connection that is being shut down', async () => {
    client.end();
    const closed = once(client, 'close');
    breakConnection(client);
    await expect(closed).resolves.toEqual([false]);
  });

  it('closes a connection whose other side has ended first', async () => {
    const other = await accepted;
    const ended = once(client, 'end');
    client.resume();
    other.end();
    await ended;
    const closed = once(client, 'close');
    breakConnection(client);
    await closed;
  });
});
