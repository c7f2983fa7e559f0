import {
  type ConnectionProvider,
  type OutboxEvent,
  realRuntime,
  withConnection,
} from '@nest-event-bus/outbox';
import type {
  StoreContractDatabase,
  StoreContractTransaction,
} from '@nest-event-bus/outbox/contract';
import {
  MySqlAgeBasedPurger,
  MySqlEventPurger,
  MySqlOutboxStore,
  PostgresAgeBasedPurger,
  PostgresEventPurger,
  PostgresOutboxStore,
  type SqlDialectName,
  SqliteAgeBasedPurger,
  SqliteEventPurger,
  SqliteOutboxStore,
  type SqlOutboxStoreOptions,
  SqlOutboxSchema,
} from '../index.js';
import { sqlDialectOf } from '../dialects/dialect-named.js';
import { eventColumns, eventOf } from './event-rows.js';
import { SqlTemplate } from './sql-template.js';

const STORES = {
  postgres: [PostgresOutboxStore, PostgresEventPurger, PostgresAgeBasedPurger],
  mysql: [MySqlOutboxStore, MySqlEventPurger, MySqlAgeBasedPurger],
  sqlite: [SqliteOutboxStore, SqliteEventPurger, SqliteAgeBasedPurger],
} as const;

export interface OpenedDatabase {
  readonly dialect: SqlDialectName;
  readonly provider: ConnectionProvider;
  begin(): Promise<StoreContractTransaction>;
  close(): Promise<void>;
}

/** A name of a table that no other test has. */
export const uniqueTable = (): string =>
  `outbox_${process.pid}_${Math.floor(realRuntime.random() * 1e9)}`;

/** Creates an outbox table of its own in a database. */
export async function contractDatabase(
  database: OpenedDatabase,
  options: SqlOutboxStoreOptions = {},
): Promise<StoreContractDatabase> {
  const table = uniqueTable();
  const [Store, StatusPurger, AgePurger] = STORES[database.dialect];
  const schema = new SqlOutboxSchema(database.dialect, { ...options, tableName: table });
  const dialect = sqlDialectOf(database.dialect);
  const sql = new SqlTemplate(database.dialect, table);
  const { provider } = database;
  await withConnection(provider, (connection) => schema.migrate(connection));
  return {
    store: new Store({ ...options, tableName: table }),
    provider,
    purgers: { status: new StatusPurger(table), age: new AgePurger(table) },
    begin: () => database.begin(),
    readAll: (): Promise<readonly OutboxEvent[]> =>
      withConnection(provider, async (connection) => {
        const columns = eventColumns(dialect, options.payload ?? 'binary');
        return (await sql.query(connection, `SELECT ${columns} FROM ${table}`)).map(eventOf);
      }),
    now: () =>
      withConnection(provider, async (connection) => {
        const now = dialect.milliseconds(dialect.now);
        const [row] = await sql.query(connection, `SELECT ${now} AS now`);
        return Number(row?.['now']);
      }),
    waitFor: (ms) => new Promise((resolve) => void realRuntime.setTimer(resolve, ms)),
    close: async () => {
      await withConnection(provider, async (connection) => {
        for (const name of [table, `${table}_lock`, `${table}_schema`])
          await sql.update(connection, `DROP TABLE IF EXISTS ${name}`);
      });
      await database.close();
    },
  };
}
