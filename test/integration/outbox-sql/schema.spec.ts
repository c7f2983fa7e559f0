import { EventEnvelope, type SqlConnection, withConnection } from '@nest-event-bus/outbox';
import { OutboxStores, SqlOutboxSchema } from '@nest-event-bus/outbox-sql';
import {
  type OpenedDatabase,
  uniqueTable,
} from '../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';
import { sessionOf } from '../../../libs/outbox-sql/src/connections/session-of.js';
import {
  missingDriver,
  sqliteDatabase,
} from '../../../libs/outbox-sql/src/stores/sqlite-database.spec-support.js';
import { describeWithService } from '../support/index.js';
import { openMysql, openPostgres } from './support/databases.js';

describeWithService('PostgreSQL', 'SqlOutboxSchema on PostgreSQL', (url) => {
  schemaCases(() => openPostgres(url));
});

describeWithService('MySQL', 'SqlOutboxSchema on MySQL', (url) => {
  schemaCases(() => openMysql(url));

  it('continues a migration that stopped after its first statement', async () => {
    const database = openMysql(url);
    const schema = new SqlOutboxSchema('mysql', { tableName: uniqueTable() });
    await on(database, async (connection) => {
      for (const statement of schema.sql().slice(0, 3)) await run(connection, statement);
      await run(connection, schema.sql(1)[1] ?? '');
      await expect(schema.migrate(connection)).resolves.toMatchObject({ currentVersion: 2 });
    });
    await drop(database, schema.table);
  });
});

describe('SqlOutboxSchema on SQLite', () => {
  if (missingDriver('better-sqlite3') !== undefined) return;
  schemaCases(() => sqliteDatabase('better-sqlite3'));
});

function schemaCases(open: () => OpenedDatabase): void {
  let database: OpenedDatabase;
  let schema: SqlOutboxSchema;

  beforeEach(() => {
    database = open();
    schema = new SqlOutboxSchema(database.dialect, { tableName: uniqueTable() });
  });

  afterEach(() => drop(database, schema.table));

  it('has version 0 before a migration and the latest version after it', async () => {
    await on(database, async (connection) => {
      expect(await schema.status(connection)).toEqual({ currentVersion: 0, latestVersion: 2 });
      expect(await schema.migrate(connection)).toEqual({ currentVersion: 2, latestVersion: 2 });
      expect(await schema.migrate(connection)).toEqual({ currentVersion: 2, latestVersion: 2 });
    });
  });

  it('is created once by several instances that begin at the same time', async () => {
    const results = await Promise.all(
      [1, 2, 3].map(() => on(database, (connection) => schema.migrate(connection))),
    );
    expect(results.map(({ currentVersion }) => currentVersion)).toEqual([2, 2, 2]);
  });

  it('prints statements that create the same schema', async () => {
    await on(database, async (connection) => {
      for (const statement of schema.sql()) await run(connection, statement);
      await expect(schema.assertCurrent(connection)).resolves.toBeUndefined();
    });
  });

  it('brings the table of version 1 to the latest version with its rows', async () => {
    await on(database, async (connection) => {
      const all = schema.sql();
      const toSecond = schema.sql(1);
      const first = all.slice(0, all.length - toSecond.length + 1);
      for (const statement of first) await run(connection, statement);
      await expect(schema.assertCurrent(connection)).rejects.toMatchObject({
        code: 'OUTBOX_SCHEMA_VERSION',
      });
      await insertOldRow(connection, schema);
      await schema.migrate(connection);
      const store = OutboxStores.detect(database.dialect, { tableName: schema.table });
      const leased = await store.lease(connection, {
        token: 't',
        leaseMs: 1_000,
        limit: 9,
        order: 'key',
      });
      expect(leased.map(({ eventId }) => eventId)).toEqual(['old']);
    });
  });

  it('is missed by name', async () => {
    const store = OutboxStores.detect(database.dialect, { tableName: schema.table });
    await on(database, async (connection) => {
      const missing = { code: 'OUTBOX_SCHEMA_MISSING', retriable: false };
      const event = EventEnvelope.ofJson('CREATED', '{}');
      await expect(store.insertNew(connection, event)).rejects.toMatchObject(missing);
      await expect(schema.assertCurrent(connection)).rejects.toMatchObject(missing);
    });
  });

  it('is needed in its latest version', async () => {
    await on(database, async (connection) => {
      const all = schema.sql();
      const first = all.slice(0, all.length - schema.sql(1).length + 1);
      for (const statement of first) await run(connection, statement);
      const store = OutboxStores.detect(database.dialect, { tableName: schema.table });
      await expect(
        store.insertNew(connection, EventEnvelope.ofJson('CREATED', '{}')),
      ).rejects.toMatchObject({ code: 'OUTBOX_SCHEMA_VERSION' });
    });
  });
}

function on<T>(
  database: OpenedDatabase,
  work: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  return withConnection(database.provider, work);
}

async function run(connection: SqlConnection, statement: string): Promise<void> {
  await sessionOf(connection).run(statement, []);
}

async function insertOldRow(connection: SqlConnection, schema: SqlOutboxSchema): Promise<void> {
  const time = schema.dialect === 'sqlite' ? '0' : "'2026-01-01 00:00:00'";
  await run(
    connection,
    `INSERT INTO ${schema.table} (event_id, event_type, payload, status, available_at, created_at) VALUES ('old', 'CREATED', '{}', 0, ${time}, ${time})`,
  );
}

async function drop(database: OpenedDatabase, table: string): Promise<void> {
  await on(database, async (connection) => {
    for (const name of [table, `${table}_lock`, `${table}_schema`])
      await run(connection, `DROP TABLE IF EXISTS ${name}`);
  });
  await database.close();
}
