import { kafkajs } from '@nest-event-bus/broker/kafkajs';
import {
  EventBusAdminModule,
  EventBusModule,
  EventHandler,
  type EventRecord,
} from '@nest-event-bus/core';
import { createAdminClient, type AdminClient } from '@nest-event-bus/core/admin-client';
import { eventually, unique } from '@nest-event-bus/testing';
import { Injectable, type CanActivate, type INestApplication } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { describeWithKafka } from '../../support/index.js';

class TokenGuard implements CanActivate {
  canActivate(context: { switchToHttp(): { getRequest(): { headers: object } } }): boolean {
    return 'authorization' in context.switchToHttp().getRequest().headers;
  }
}

const PRODUCED = 40;
const POISON = (value: number): boolean => value % 4 === 0;

describeWithKafka('The admin API on a real broker', ({ brokers }) => {
  const topic = unique('orders');
  const groupId = unique('shop');
  const driver = kafkajs({ brokers });
  const handled: number[] = [];
  let isCured = false;
  let application: INestApplication;
  let client: AdminClient;

  const until = (what: string, condition: () => Promise<boolean> | boolean): Promise<unknown> =>
    eventually(async () => condition(), { description: what, timeoutMs: 120_000, intervalMs: 200 });

  beforeAll(async () => {
    @Injectable()
    class Orders {
      @EventHandler('orders')
      onOrder({ value }: EventRecord<number>): void {
        if (POISON(value) && !isCured) throw new Error('the warehouse does not know this order');
        handled.push(value);
      }
    }
    const bindings = {
      orders: {
        topic,
        groupId,
        provisioning: 'create' as const,
        retry: { tier0: { maxAttempts: 1 }, tiers: [] },
        circuitBreaker: { enabled: false },
      },
    };
    class App {}
    await driver.admin().createTopics([{ name: topic, partitions: 2 }]);
    application = await NestFactory.create(
      {
        module: App,
        imports: [
          EventBusModule.forRoot({ brokers, bindings }),
          EventBusAdminModule.register({
            access: { guards: [TokenGuard] },
            allow: ['read', 'payload', 'control', 'redrive', 'purge'],
            who: () => 'ann',
          }),
        ],
        providers: [Orders],
      },
      { logger: ['error'], abortOnError: false },
    );
    await application.listen(0, '127.0.0.1');
    const { port } = (application.getHttpServer() as { address(): { port: number } }).address();
    client = createAdminClient({
      url: `http://127.0.0.1:${port}/eventbus`,
      headers: () => ({ authorization: 'Bearer of the test', connection: 'close' }),
    });
  }, 180_000);

  afterAll(async () => {
    await application?.close();
    await driver.close();
  }, 120_000);

  it('brings poison from the dead letters back, and reconciles with what was produced', async () => {
    const params = { name: 'orders' };
    const records = Array.from({ length: PRODUCED }, (_, value) => ({
      topic,
      partition: value % 2,
      value: String(value),
    }));
    const producer = driver.producer();
    await producer.send(records);
    const poison = records.filter((_, value) => POISON(value)).length;
    await until('the dead letters', async () => {
      const { counts } = await client.getBinding({ params });
      return counts.deadLettered === poison && counts.processed === PRODUCED - poison;
    });
    await until('the commits', async () => (await client.getBinding({ params })).lag === 0);
    const stats = await client.getDeadLetterStats({ params });
    expect(stats).toMatchObject({ count: poison, byStatus: { open: poison } });

    const id = unique('redrive');
    const selection = { id, where: { group: stats.groups[0]!.id }, reason: 'repaired' };
    const plan = await client.createOperation({ params, body: { ...selection, dryRun: true } });
    expect(plan).toMatchObject({ id, state: 'planned', selected: poison, createdBy: 'ann' });
    isCured = true;
    await client.createOperation({ params, body: selection });
    const states: string[] = [];
    for await (const { state } of client.followOperation({ params: { ...params, id } }))
      states.push(state);
    expect(states.at(-1)).toBe('completed');
    expect(await client.getOperation({ params: { ...params, id } })).toMatchObject({
      replayed: poison,
      remaining: 0,
      failed: 0,
    });
    await until('every order to be handled', () => handled.length === PRODUCED);
    expect(handled.toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: PRODUCED }, (_, value) => value),
    );
    expect(await client.replay({ params, query: { all: true } })).toMatchObject({ replayed: 0 });

    const purged = await client.purge({ params, query: { plan: id, reason: 'done' } });
    expect(purged).toMatchObject({ deleted: poison });
    expect(await client.getDeadLetterStats({ params })).toMatchObject({ count: 0 });
    expect(await client.listActions({ params })).toMatchObject({
      actions: [{ action: 'purge', by: 'ann', reason: 'done', result: { deleted: poison } }],
    });
    await producer.close();
  }, 300_000);

  it('pauses and resumes the binding in its group', async () => {
    const params = { name: 'orders' };
    const note = { body: { reason: 'maintenance' } };
    expect(await client.pauseBinding({ params, ...note })).toMatchObject({ state: 'PAUSED' });
    const before = handled.length;
    const producer = driver.producer();
    await producer.send([{ topic, partition: 0, value: '101' }]);
    await until('the lag', async () => (await client.getBinding({ params })).lag === 1);
    expect(handled).toHaveLength(before);
    expect(await client.resumeBinding({ params, ...note })).toMatchObject({ state: 'RUNNING' });
    await until('the order', () => handled.length === before + 1);
    await producer.close();
  }, 300_000);
});
