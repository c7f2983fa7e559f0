import { EventEnvelope, OutboxWriter } from '@nest-event-bus/outbox';
import {
  OutboxListener,
  type OutboxMode,
  OutboxModule,
  type OutboxModuleOptions,
  OutboxTransactions,
} from '@nest-event-bus/outbox-nest';
import { SqlOutboxSchema } from '@nest-event-bus/outbox-sql';
import { eventually } from '@nest-event-bus/testing';
import { Injectable, Module } from '@nestjs/common';
import { Test, type TestingModule } from '@nestjs/testing';
import { Pool } from 'pg';
import { uniqueTable } from '../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';
import { describeWithService } from '../support/index.js';

@Injectable()
class Orders {
  readonly seen: string[] = [];

  @OutboxListener({ event: 'PLACED' })
  onPlaced({ eventId }: EventEnvelope): void {
    this.seen.push(eventId);
  }
}

describeWithService('PostgreSQL', 'OutboxModule with wake', (url) => {
  const close: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const each of close.splice(0).reverse()) await each();
  }, 120_000);

  async function newTable(): Promise<string> {
    const tableName = uniqueTable();
    const pool = new Pool({ connectionString: url });
    close.push(async () => {
      for (const suffix of ['', '_lock', '_schema'])
        await pool.query(`DROP TABLE IF EXISTS ${tableName}${suffix}`);
      await pool.end();
    });
    const client = await pool.connect();
    await new SqlOutboxSchema('postgres', { tableName }).migrate(client);
    client.release();
    return tableName;
  }

  /** An application whose polls come so late that only a notification can be in time. */
  async function start(
    tableName: string,
    options: Partial<OutboxModuleOptions>,
  ): Promise<{ app: TestingModule; pool: Pool }> {
    const pool = new Pool({ connectionString: url, max: 4 });
    const outbox = OutboxModule.forRoot({
      database: pool,
      storeOptions: { tableName },
      intervalMs: 3_600_000,
      wake: true,
      ...options,
    });
    @Module({ imports: [outbox], providers: [Orders] })
    class App {}
    const app = await Test.createTestingModule({ imports: [App] }).compile();
    await app.init();
    close.push(
      () => pool.end(),
      () => app.close(),
    );
    return { app, pool };
  }

  const isListening = async (pool: Pool, tableName: string): Promise<boolean> => {
    const { rowCount } = await pool.query(
      "SELECT 1 FROM pg_stat_activity WHERE query = 'LISTEN ' || $1",
      [tableName],
    );
    return rowCount === 1;
  };

  it.each<OutboxMode>(['multiNode', 'ordered', 'leased'])(
    'makes another process in the mode %s dispatch what this one has committed',
    async (mode) => {
      const tableName = await newTable();
      const reader = await start(tableName, { mode, claimTimeoutMs: 60_000 });
      const writer = await start(tableName, { mode: 'writerOnly' });
      await eventually(() => isListening(reader.pool, tableName), { timeoutMs: 60_000 });
      await writer.app
        .get(OutboxTransactions)
        .transaction(writer.pool, () =>
          writer.app
            .get(OutboxWriter)
            .write(new EventEnvelope({ eventId: 'e1', eventType: 'PLACED', payloadJson: '1' })),
        );
      await eventually(() => reader.app.get(Orders).seen.includes('e1'), { timeoutMs: 60_000 });
    },
    120_000,
  );

  it('sends one notification per window, none within a transaction, and none for a rollback', async () => {
    const tableName = await newTable();
    const { app, pool } = await start(tableName, {
      mode: 'writerOnly',
      wake: { windowMs: 600_000 },
    });
    const query = jest.spyOn(pool, 'query');
    const write = (): Promise<unknown> =>
      app.get(OutboxWriter).write(EventEnvelope.ofJson('PLACED', '1'));
    const transactions = app.get(OutboxTransactions);
    await expect(
      transactions.transaction(pool, async () => {
        await write();
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    await transactions.transaction(pool, async () => {
      await write();
      expect(query).not.toHaveBeenCalled();
    });
    await transactions.transaction(pool, write);
    expect(query.mock.calls).toEqual([['SELECT pg_notify($1, $2)', [tableName, '']]]);
  }, 120_000);
});
