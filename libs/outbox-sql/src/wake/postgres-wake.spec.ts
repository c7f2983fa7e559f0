import { ManualRuntime } from '@nest-event-bus/outbox/memory';
import { type ListeningClient, PostgresWake } from './postgres-wake.js';

describe('PostgresWake', () => {
  it('listens as soon as the database answers, and asks again until then', async () => {
    const runtime = new ManualRuntime();
    const client = { query: jest.fn(), on: jest.fn(), release: jest.fn() };
    const connect = jest
      .fn<Promise<ListeningClient>, []>()
      .mockRejectedValueOnce(new Error('no'))
      .mockRejectedValueOnce(new Error('no'))
      .mockResolvedValue(client);
    const lines: string[] = [];
    const logger = { log: jest.fn(), error: jest.fn(), warn: (line: string) => lines.push(line) };
    const wake = new PostgresWake({ pool: { connect, query: jest.fn() }, runtime, logger });
    let woken = 0;
    wake.start(() => woken++);
    await runtime.settle();
    expect([connect.mock.calls.length, woken]).toEqual([1, 0]);
    await runtime.advance(200);
    await runtime.advance(400);
    expect([connect.mock.calls.length, woken]).toEqual([3, 1]);
    expect(client.query).toHaveBeenCalledWith('LISTEN outbox_event');
    expect(lines).toEqual([expect.stringContaining('200 ms'), expect.stringContaining('400 ms')]);
    await wake.close();
  });

  it('releases a connection once that is lost during LISTEN, and connects again once', async () => {
    const runtime = new ManualRuntime();
    const released: unknown[] = [];
    const lost = (): ListeningClient => {
      const listeners: (() => void)[] = [];
      return {
        on: (event, listener) => void (event === 'notification' || listeners.push(listener)),
        query: () => {
          for (const listener of listeners) listener();
          return Promise.reject(new Error('lost'));
        },
        release: (error) => void released.push(error),
      };
    };
    const client = { query: jest.fn(), on: jest.fn(), release: jest.fn() };
    const connect = jest.fn<Promise<ListeningClient>, []>().mockResolvedValue(client);
    connect.mockResolvedValueOnce(lost());
    const logger = { log: jest.fn(), error: jest.fn(), warn: jest.fn() };
    const wake = new PostgresWake({ pool: { connect, query: jest.fn() }, runtime, logger });
    wake.start(() => undefined);
    await runtime.settle();
    expect(released).toEqual([true]);
    await runtime.advance(60_000);
    expect(connect).toHaveBeenCalledTimes(2);
    await wake.close();
  });

  it.each(['Outbox_Event', 'shop.Outbox', `${'s'.repeat(40)}.${'t'.repeat(40)}`])(
    'notifies the channel that it listens to, for the table %s',
    async (tableName) => {
      const client = { query: jest.fn(), on: jest.fn(), release: jest.fn() };
      const query = jest.fn().mockResolvedValue(undefined);
      const pool = { connect: () => Promise.resolve(client), query };
      const wake = new PostgresWake({ pool, tableName, runtime: new ManualRuntime() });
      await wake.listen(() => undefined);
      wake.notify();
      const [[, [channel]]] = query.mock.calls as [[string, [string, string]]];
      expect(channel).toMatch(/^[a-z0-9_]{1,63}$/);
      expect(client.query).toHaveBeenCalledWith(`LISTEN ${channel}`);
      await wake.close();
    },
  );
});
