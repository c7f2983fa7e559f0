import { createAdminClient, type AdminClient } from '@nest-event-bus/core/admin-client';
import { AdminTestBus } from './admin-test-bus.spec-support.js';

describe('The client of the admin API', () => {
  let bus: AdminTestBus;
  let client: AdminClient;

  beforeEach(async () => {
    bus = await AdminTestBus.started();
    const url = `http://127.0.0.1:${bus.port}/eventbus`;
    const headers = () => ({ 'x-operator': 'joe', connection: 'close' });
    client = createAdminClient({ url, headers });
  });
  afterEach(() => bus.end());

  it('gives commands, and returns typed answers', async () => {
    const { state, lastCommand } = await bus.done(
      client.pauseBinding({ params: { name: 'orders' }, body: { reason: 'lunch' } }),
    );
    expect({ state, lastCommand }).toMatchObject({
      state: 'PAUSED',
      lastCommand: { by: 'joe', reason: 'lunch' },
    });
    const { bindings } = await bus.done(client.listBindings());
    expect(bindings.map(({ name }) => name)).toEqual(['orders']);
    const removed = client.unregisterBinding({ params: { name: 'orders' } });
    expect(await bus.done(removed)).toBeUndefined();
  });

  it('throws problems with their code and status', async () => {
    const answer = bus.done(client.getBinding({ params: { name: 'a/b' } }));
    await expect(answer).rejects.toMatchObject({
      name: 'AdminClientError',
      status: 404,
      code: 'BINDING_NOT_FOUND',
      problem: { title: 'Not found' },
    });
  });

  it('tells the status of an answer that is none of the API', async () => {
    const other = createAdminClient({
      url: '/eventbus/',
      fetch: async (url) => ({
        ok: false,
        status: 502,
        body: null,
        text: async () => `<html>${url}</html>`,
      }),
    });
    await expect(other.getHealth()).rejects.toMatchObject({ status: 502, code: 'HTTP_502' });
  });

  it('follows a redrive until its end', async () => {
    await bus.fails('1', '2');
    bus.isCured = true;
    const params = { name: 'orders', id: 'followed' };
    const body = { id: 'followed', all: true, dryRun: true } as const;
    await bus.done(client.createOperation({ params: { name: 'orders' }, body }));
    const follow = async (): Promise<readonly string[]> => {
      const states: string[] = [];
      for await (const { state } of client.followOperation({ params })) states.push(state);
      return states;
    };
    const following = follow();
    await bus.done(client.runOperation({ params }));
    const states = await bus.done(following);
    expect(states.at(-1)).toBe('completed');
  });

  it('replays with the parameters of the query', async () => {
    await bus.fails('1', '2');
    bus.isCured = true;
    const replaying = client.replay({ params: { name: 'orders' }, query: { count: 1 } });
    expect(await bus.done(replaying)).toMatchObject({ replayed: 1 });
  });
});
