import { memory } from '@nest-event-bus/broker/memory';
import { EventBusModule } from '@nest-event-bus/core';
import { EventBusHealthModule } from '@nest-event-bus/core/terminus';
import { IllegalStateError } from '@nest-event-bus/outbox';
import { MemoryDatabase, MemoryOutboxStore } from '@nest-event-bus/outbox/memory';
import { type INestApplication, Module } from '@nestjs/common';
import { Test } from '@nestjs/testing';
import { OutboxHealth, OutboxModule } from '@nest-event-bus/outbox-nest';
import { OutboxHealthIndicator, OutboxHealthModule } from '@nest-event-bus/outbox-nest/terminus';

describe('OutboxHealthIndicator at GET /health/ready', () => {
  const open: INestApplication[] = [];
  afterEach(async () => {
    for (const app of open.splice(0)) await app.close();
  });

  const database = new MemoryDatabase();
  const store = new MemoryOutboxStore(database);

  async function start(degradedAs?: 'down'): Promise<INestApplication> {
    @Module({
      imports: [
        EventBusModule.forRoot({ driver: memory(), bindings: {} }),
        OutboxModule.forRoot({ database: database as never, store, connectionProvider: database }),
        OutboxHealthModule,
        EventBusHealthModule.withEndpoints({
          indicators: { outbox: OutboxHealthIndicator },
          degradedAs,
        }),
      ],
    })
    class App {}
    const app = (
      await Test.createTestingModule({ imports: [App] }).compile()
    ).createNestApplication();
    open.push(app);
    await app.listen(0);
    return app;
  }

  async function ready(app: INestApplication): Promise<readonly [number, unknown]> {
    const answer = await fetch(`${await app.getUrl()}/health/ready`);
    const body = (await answer.json()) as { readonly details: Record<string, unknown> };
    expect(body.details).toHaveProperty('eventbus');
    return [answer.status, body.details['outbox']];
  }

  it('answers 200 with the figures while the outbox works', async () => {
    expect(await ready(await start())).toEqual([
      200,
      { status: 'up', state: 'UP', pending: 0, dead: 0, blockedKeys: 0, longestDueMs: 0 },
    ]);
  });

  it('answers 200 and says why while the outbox is degraded, or 503 if told to', async () => {
    const report = {
      status: 'DEGRADED',
      state: 'running',
      reasons: ['1 events are DEAD.'],
      figures: null,
    } as const;
    for (const [degradedAs, expected] of [
      [undefined, [200, 'degraded']],
      ['down', [503, 'down']],
    ] as const) {
      const app = await start(degradedAs);
      jest.spyOn(app.get(OutboxHealth), 'check').mockResolvedValue(report);
      const [status, outbox] = await ready(app);
      const { reasons } = report;
      expect([status, outbox]).toEqual([
        expected[0],
        { status: expected[1], state: 'DEGRADED', reasons },
      ]);
    }
  });

  it('answers 503 while the table cannot be read, and 200 when it can, without other traffic', async () => {
    const app = await start();
    const failing = jest
      .spyOn(store.inspection, 'figures')
      .mockRejectedValue(new IllegalStateError('no'));
    const [status, outbox] = await ready(app);
    expect([status, outbox]).toEqual([503, expect.objectContaining({ status: 'down' })]);
    failing.mockRestore();
    expect(await ready(app)).toEqual([200, expect.objectContaining({ status: 'up' })]);
  });

  it('is DOWN after the application was closed', async () => {
    const app = await start();
    const health = app.get(OutboxHealth);
    expect((await health.check()).status).toBe('UP');
    await app.close();
    expect(await health.check()).toMatchObject({ status: 'DOWN', state: 'stopped' });
  });
});
