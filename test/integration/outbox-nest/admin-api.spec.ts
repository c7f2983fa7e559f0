import { memory } from '@nest-event-bus/broker/memory';
import { type AdminRight, EventBusAdminModule, EventBusModule } from '@nest-event-bus/core';
import { EventEnvelope } from '@nest-event-bus/outbox';
import { type OutboxCommand, OutboxModule } from '@nest-event-bus/outbox-nest';
import { OutboxAdminModule, outboxAdminExtension } from '@nest-event-bus/outbox-nest/bus';
import { SqliteOutboxStore, SqlOutboxSchema } from '@nest-event-bus/outbox-sql';
import { eventually } from '@nest-event-bus/testing';
import { type CanActivate, type INestApplication, Logger, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { openSqlite } from '../../../libs/outbox-sql/src/stores/sqlite-database.spec-support.js';

class OperatorGuard implements CanActivate {
  canActivate(context: { switchToHttp(): { getRequest(): { headers: object } } }): boolean {
    return 'x-operator' in context.switchToHttp().getRequest().headers;
  }
}

interface Answer {
  readonly status: number;
  readonly body: Record<string, unknown>;
  readonly location: string | null;
}

describe('The admin API of the outbox', () => {
  const ALL: readonly AdminRight[] = ['read', 'payload', 'control', 'redrive', 'purge'];
  let app: INestApplication;
  let url: string;
  let database: ReturnType<typeof openSqlite>;
  let commands: OutboxCommand[];
  const store = new SqliteOutboxStore();

  beforeEach(() => Logger.overrideLogger(false));
  afterEach(async () => {
    await app.close();
    database.close();
  });

  async function start(allow = ALL): Promise<void> {
    database = openSqlite();
    commands = [];
    await new SqlOutboxSchema('sqlite').migrate(database);
    @Module({
      imports: [
        EventBusModule.forRoot({ driver: memory(), bindings: {} }),
        OutboxModule.forRoot({
          database,
          mode: 'leased',
          intervalMs: 3_600_000,
          leased: { deadKey: 'block' },
          onCommand: (command) => commands.push(command),
        }),
        EventBusAdminModule.register({
          access: { guards: [OperatorGuard] },
          allow,
          who: ({ headers }: { headers: Record<string, string> }) => headers['x-operator'],
          imports: [OutboxAdminModule],
          extensions: [outboxAdminExtension],
        }),
      ],
    })
    class App {}
    app = (await Test.createTestingModule({ imports: [App] }).compile()).createNestApplication();
    await app.listen(0, '127.0.0.1');
    url = `${await app.getUrl()}/eventbus`;
  }

  async function send(
    method: string,
    path: string,
    body?: object,
    headers: Readonly<Record<string, string>> = { 'x-operator': 'alice' },
  ): Promise<Answer> {
    const answer = await fetch(`${url}/${path}`, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    return {
      status: answer.status,
      body: JSON.parse(text) as Answer['body'],
      location: answer.headers.get('location'),
    };
  }

  async function kill(eventId: string, error = 'TypeError: secret message'): Promise<void> {
    const event = { eventId, eventType: 'PLACED', payloadJson: '"secret"', headers: { a: 'b' } };
    await store.insertNew(database, new EventEnvelope(event));
    await store.markDead(database, eventId, error);
  }

  const statusOf = (eventId: string): unknown =>
    database.prepare('SELECT status FROM outbox_event WHERE event_id = ?').all(eventId);

  it('lists DEAD events page by page, without payloads and messages of errors', async () => {
    await start();
    for (const id of ['a', 'b', 'c']) await kill(id);
    const first = await send('GET', 'outbox/events?status=dead&limit=2');
    expect(first).toMatchObject({
      status: 200,
      body: {
        events: [
          { eventId: 'a', status: 'DEAD', errorClass: 'TypeError', blocksKey: false },
          { eventId: 'b' },
        ],
      },
    });
    expect(JSON.stringify(first)).not.toContain('secret');
    const second = await send(
      'GET',
      `outbox/events?status=dead&limit=2&after=${String(first.body['next'])}`,
    );
    expect(second.body).toMatchObject({ events: [{ eventId: 'c' }], next: null });
    const old = 'outbox/events?status=dead&createdBefore=2001-01-01T00:00:00Z';
    expect((await send('GET', old)).body).toMatchObject({ events: [] });
    expect((await send('GET', 'outbox/events?status=all')).status).toBe(400);
  });

  it('shows a payload only with the right payload', async () => {
    await start();
    await kill('a');
    expect(await send('GET', 'outbox/events/a')).toMatchObject({
      status: 200,
      body: {
        payload: '"secret"',
        payloadEncoding: 'text',
        headers: '{"a":"b"}',
        lastError: 'TypeError: secret message',
      },
    });
    expect((await send('GET', 'outbox/events/x')).status).toBe(404);
    await app.close();
    await start(['read']);
    expect((await send('GET', 'outbox/events/a')).status).toBe(403);
  });

  it('plans, redrives at a rate and purges what was planned, and audits each command', async () => {
    await start();
    for (const id of ['a', 'b']) await kill(id, 'HttpError: 503');
    await kill('c');
    const groups = await send('GET', 'outbox/groups');
    const [{ id: group }] = groups.body['groups'] as [{ id: string }];
    // The list knows no groups of cause, so it refuses one.
    expect((await send('GET', `outbox/events?status=dead&group=${group}`)).status).toBe(400);
    const where = { group };
    const plan = await send('POST', 'outbox/plans', { where });
    expect(plan).toMatchObject({
      status: 200,
      body: { count: 2, isComplete: true, groups: [{ errorClass: 'HttpError', count: 2 }] },
    });
    const run = { plan: plan.body['id'], where, rate: 1_000, reason: 'it is back' };
    const started = await send('POST', 'outbox/operations', run);
    expect(started).toMatchObject({ status: 202, body: { total: 2, rate: 1_000 } });
    const path = `outbox/operations/${String(started.body['id'])}`;
    expect(started.location).toBe(`/eventbus/${path}`);
    await eventually(async () => (await send('GET', path)).body['state'] === 'completed', {
      timeoutMs: 60_000,
    });
    expect((await send('GET', path)).body).toMatchObject({ replayed: 2, skipped: 0 });
    expect((await send('POST', 'outbox/operations', run)).status).toBe(409);
    expect((await send('DELETE', path)).body).toMatchObject({ state: 'completed' });

    const where2 = { eventType: 'PLACED', createdBefore: new Date(Date.now() + 1e6).toISOString() };
    await eventually(async () => {
      const all = await send('POST', 'outbox/plans', { where: where2 });
      return all.body['count'] === 3;
    });
    const all = await send('POST', 'outbox/plans', { where: where2 });
    const purge = { plan: all.body['id'], where: where2 };
    expect((await send('POST', 'outbox/purges', purge)).body).toEqual({ purged: 3 });
    expect(statusOf('c')).toEqual([]);
    expect(commands.filter(({ command }) => command !== 'plan')).toMatchObject([
      { command: 'redrive', by: 'alice', reason: 'it is back', outcome: 'started', events: 2 },
      { command: 'redrive', by: 'alice', reason: 'it is back', outcome: 'done', events: 2 },
      { command: 'redrive', outcome: 'failed', code: 'OUTBOX_PLAN_CHANGED' },
      { command: 'cancel', outcome: 'done' },
      { command: 'purge', by: 'alice', outcome: 'done', events: 3 },
    ]);
  });

  it.each(['unblock', 'skip'])('lists blocked keys, and %s frees one', async (how) => {
    await start();
    const keyed = { aggregateType: 'ORDER', aggregateId: '1', payloadJson: '1' };
    await store.insertNew(database, new EventEnvelope({ eventId: 'a', eventType: 'X', ...keyed }));
    const lease = { token: 't', leaseMs: 60_000, limit: 1, order: 'key' } as const;
    await store.lease(database, lease);
    const dead = { kind: 'dead', eventId: 'a', error: 'Error: x', blocksKey: true } as const;
    await store.complete(database, 't', [dead]);
    expect((await send('GET', 'outbox/blocked-keys')).body).toEqual({
      keys: [{ key: 'ORDER:1', eventId: 'a', errorClass: 'Error', waiting: 0 }],
    });
    const freed = await send('POST', `outbox/blocked-keys/${how}`, { key: 'ORDER:1' });
    expect(freed).toMatchObject({ status: 200, body: { events: 1 } });
  });

  it('has the guards and the rights of the admin API', async () => {
    await start(['read']);
    expect((await send('GET', 'outbox/groups', undefined, {})).status).toBe(403);
    const plan = `1-${'0'.repeat(24)}`;
    for (const [path, body] of [
      ['outbox/operations', { plan }],
      ['outbox/purges', { plan }],
      ['outbox/blocked-keys/skip', { key: 'x' }],
    ] as const)
      expect((await send('POST', path, body)).status).toBe(403);
  });

  it('is in the OpenAPI document', async () => {
    await start();
    const { body } = await send('GET', 'openapi.json');
    const paths = Object.keys(body['paths'] as object).filter((path) => path.includes('outbox'));
    expect(paths).toHaveLength(10);
  });

  it('answers 503 and no message of the driver while the database is gone', async () => {
    await start();
    await kill('a');
    database.exec('DROP TABLE outbox_event');
    const { status, body } = await send('GET', 'outbox/events?status=dead');
    expect([status, typeof body['detail']]).toEqual([503, 'string']);
  });
});
