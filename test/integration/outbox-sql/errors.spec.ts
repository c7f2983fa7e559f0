import { EventEnvelope, IllegalArgumentError, withConnection } from '@nest-event-bus/outbox';
import {
  OutboxStores,
  PoolConnectionProvider,
  PostgresEventPurger,
  PostgresOutboxStore,
  SqlOutboxSchema,
} from '@nest-event-bus/outbox-sql';
import type { StoreContractDatabase } from '@nest-event-bus/outbox/contract';
import { Pool } from 'pg';
import { contractDatabase } from '../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';
import { describeWithService } from '../support/index.js';
import { openMysql, openPostgres, type PostgresDatabase } from './support/databases.js';

describeWithService('PostgreSQL', 'PostgresOutboxStore with wrong input', (url) => {
  let opened: PostgresDatabase;
  let database: StoreContractDatabase;

  beforeEach(async () => {
    opened = openPostgres(url);
    database = await contractDatabase(opened);
  });

  afterEach(() => database.close());

  it.each(['outbox; DROP TABLE x', 'a"b', '', '1a', 'a.b.c', 'x'.repeat(49)])(
    'refuses the table name %j everywhere',
    (tableName) => {
      for (const create of [
        () => new PostgresOutboxStore({ tableName }),
        () => new PostgresEventPurger(tableName),
        () => new SqlOutboxSchema('postgres', { tableName }),
      ])
        expect(create).toThrow(IllegalArgumentError);
    },
  );

  it('refuses a pool, because its statements are in no transaction', async () => {
    await expect(
      database.store.insertNew(opened.pool, EventEnvelope.ofJson('CREATED', '{}')),
    ).rejects.toMatchObject({ code: 'OUTBOX_TRANSACTION_REQUIRED' });
  });

  it('refuses a connection of another database', async () => {
    const store = OutboxStores.detect('mysql://127.0.0.1/test');
    await withConnection(database.provider, (connection) =>
      expect(store.markDone(connection, 'e1')).rejects.toMatchObject({
        code: 'ILLEGAL_ARGUMENT',
      }),
    );
  });

  it('refuses connections with a stricter isolation level', async () => {
    const pool = new Pool({
      connectionString: url,
      options: '-c default_transaction_isolation=serializable',
    });
    const request = { token: 't', leaseMs: 1_000, limit: 1, order: 'key' } as const;
    const store = database.store as PostgresOutboxStore;
    await withConnection(new PoolConnectionProvider(pool), async (connection) => {
      const wrong = { code: 'OUTBOX_ISOLATION_LEVEL' };
      await expect(store.lease(connection, request)).rejects.toMatchObject(wrong);
      await expect(store.claimPending(connection, 'o', 0, 0, 0, 1)).rejects.toMatchObject(wrong);
    });
    await pool.end();
  });

  it.each(['REPEATABLE READ', 'SERIALIZABLE'])(
    'inserts with locked keys in a transaction that is %s',
    async (level) => {
      const transaction = await database.begin();
      const client = transaction.connection as { query(sql: string): Promise<unknown> };
      await client.query(`SET TRANSACTION ISOLATION LEVEL ${level}`);
      const event = EventEnvelope.builder('CREATED').aggregateId('a').payloadJson('{}').build();
      await database.store.insertAll(client, [event], { lockKeys: true });
      await transaction.commit();
      expect(await database.readAll()).toHaveLength(1);
    },
  );

  it('says that an unreachable database may answer later', async () => {
    const pool = new Pool({ connectionString: 'postgres://postgres@127.0.0.1:1/test' });
    await expect(new PoolConnectionProvider(pool).getConnection()).rejects.toMatchObject({
      code: 'OUTBOX_STORE_FAILED',
      retriable: true,
    });
    await pool.end();
  });

  it('never repeats a payload in an error', async () => {
    const event = new EventEnvelope({
      eventId: 'e1',
      eventType: 'CREATED',
      payloadJson: '{"secret":1}',
    });
    await withConnection(database.provider, async (connection) => {
      await database.store.insertNew(connection, event);
      const error: unknown = await database.store.insertNew(connection, event).catch((e) => e);
      expect(error).toMatchObject({ code: 'OUTBOX_STORE_FAILED', retriable: false });
      expect(String(error)).not.toContain('secret');
    });
  });
});

describeWithService('MySQL', 'MySqlOutboxStore with wrong input', (url) => {
  it('misses lock rows by name instead of inserting without a lock', async () => {
    const database = await contractDatabase(openMysql(url));
    const { table } = database.store as unknown as { readonly table: string };
    const transaction = await database.begin();
    const connection = transaction.connection as { query(sql: string): Promise<unknown> };
    await connection.query(`DELETE FROM ${table}_lock`);
    const event = EventEnvelope.builder('CREATED').aggregateId('a').payloadJson('{}').build();
    await expect(
      database.store.insertAll(connection, [event], { lockKeys: true }),
    ).rejects.toMatchObject({ code: 'OUTBOX_SCHEMA_VERSION' });
    await transaction.rollback();
    await database.close();
  });
});
