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
});
