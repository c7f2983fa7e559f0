import { EventEmitter } from 'node:events';
import { PoolConnectionProvider } from './pool-connection-provider.js';

class Client extends EventEmitter {
  readonly release = jest.fn();
}

describe('PoolConnectionProvider with a pool of pg', () => {
  const open = async () => {
    const client = new Client();
    const provider = new PoolConnectionProvider({ connect: () => Promise.resolve(client) });
    return { client, connection: await provider.getConnection() };
  };

  it('survives a connection that the server ends between two statements, and discards it', async () => {
    const { client, connection } = await open();
    const lost = new Error('Connection terminated unexpectedly');
    expect(() => client.emit('error', lost)).not.toThrow();
    await connection.release();
    expect(client.release).toHaveBeenCalledWith(lost);
  });

  it('leaves no listener on a connection that it gives back', async () => {
    const { client, connection } = await open();
    await connection.release();
    expect(client.listenerCount('error')).toBe(0);
    expect(client.release).toHaveBeenCalledWith(undefined);
  });

  it('gives the error of the user to the pool, which discards the connection', async () => {
    const { client, connection } = await open();
    const broken = new Error('broken');
    await connection.release(broken);
    expect(client.release).toHaveBeenCalledWith(broken);
  });
});
