export {
  AsyncLocalStorageTxContext,
  type TxScope,
} from './connections/async-local-storage-tx-context.js';
export {
  openSqlDatabase,
  type OpenDatabaseOptions,
  type OpenedSqlDatabase,
} from './connections/open-database.js';
export {
  PoolConnectionProvider,
  type MysqlPool,
  type PostgresPool,
  type PostgresPoolClient,
  type SqlPool,
} from './connections/pool-connection-provider.js';
export type {
  MysqlConnection,
  PostgresConnection,
  PostgresResult,
  SqliteConnection,
  SqliteStatement,
} from './connections/driver-connections.js';
export type {
  SqlDialectName,
  SqlResult,
  SqlRow,
  SqlSession,
  SqlValue,
} from './connections/sql-session.js';
export { SqlTransactionManager } from './connections/sql-transaction-manager.js';
export type { PayloadColumn } from './dialects/sql-dialect.js';
export {
  OutboxDriverMissingError,
  OutboxIsolationError,
  OutboxSchemaMissingError,
  OutboxSchemaVersionError,
  OutboxStoreException,
} from './errors/index.js';
export { type InboxMessage, SqlInbox } from './inbox/sql-inbox.js';
export { SqlInboxSchema } from './inbox/sql-inbox-schema.js';
export {
  AbstractSqlEventPurger,
  type OldRows,
  MySqlAgeBasedPurger,
  MySqlEventPurger,
  PostgresAgeBasedPurger,
  PostgresEventPurger,
  SqliteAgeBasedPurger,
  SqliteEventPurger,
} from './purging/event-purgers.js';
export { SqlOutboxSchema, type SqlOutboxSchemaOptions } from './schema/sql-outbox-schema.js';
export {
  AbstractSqlOutboxStore,
  type SqlOutboxStoreOptions,
} from './stores/abstract-sql-outbox-store.js';
export { MySqlOutboxStore } from './stores/mysql-outbox-store.js';
export { dialectOf, OutboxStores, type OutboxStoreProvider } from './stores/outbox-stores.js';
export { PostgresOutboxStore } from './stores/postgres-outbox-store.js';
export { SqliteOutboxStore } from './stores/sqlite-outbox-store.js';
export { SqlTemplate, type SqlParameters } from './stores/sql-template.js';
export type { HeldChange } from './stores/completion.js';
export type { InsertRows, InsertStatement } from './stores/insert-statement.js';
export type { LeaseSql } from './stores/lease-sql.js';
export {
  PostgresWake,
  type ListeningClient,
  type NotifyingPool,
  type PostgresWakeOptions,
} from './wake/postgres-wake.js';
