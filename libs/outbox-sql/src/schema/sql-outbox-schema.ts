import { type OutboxSchema, type SchemaStatus, type SqlConnection } from '@nest-event-bus/outbox';
import { sessionOf } from '../connections/session-of.js';
import type { SqlDialectName, SqlRow, SqlSession } from '../connections/sql-session.js';
import type { PayloadColumn } from '../dialects/sql-dialect.js';
import {
  OutboxSchemaMissingError,
  OutboxSchemaVersionError,
  OutboxStoreException,
} from '../errors/store-errors.js';
import { SCHEMA_VERSION, translateError } from '../errors/translate-error.js';
import { hash48 } from '../stores/order-key-hash.js';
import { checkedTableName, DEFAULT_TABLE } from '../stores/table-name.js';
import { versionTableOf } from './key-locks.js';
import { mysqlVersions } from './mysql-versions.js';
import { postgresVersions } from './postgres-versions.js';
import { sqliteVersions } from './sqlite-versions.js';

export interface SqlOutboxSchemaOptions {
  /** The name of the table. Default `outbox_event`. */
  readonly tableName?: string;
  /** The kind of the payload column. The store has the same option. Default `binary`. */
  readonly payload?: PayloadColumn;
}

const VERSIONS = { postgres: postgresVersions, mysql: mysqlVersions, sqlite: sqliteVersions };

/** The seconds that a migration waits for another one. */
const LOCK_SECONDS = 60;

/** Codes of what an interrupted migration of MySQL has already done. */
const ALREADY_DONE = new Set(['ER_DUP_FIELDNAME', 'ER_DUP_KEYNAME']);

/** The tables of the outbox in one dialect. */
export class SqlOutboxSchema implements OutboxSchema {
  readonly table: string;
  readonly #versions: readonly (readonly string[])[];

  constructor(
    readonly dialect: SqlDialectName,
    { tableName = DEFAULT_TABLE, payload = 'binary' }: SqlOutboxSchemaOptions = {},
  ) {
    this.table = checkedTableName(tableName);
    this.#versions = VERSIONS[dialect](this.table, payload);
  }

  async status(connection: SqlConnection): Promise<SchemaStatus> {
    return this.#translated(async () => {
      const session = sessionOf(connection);
      return { currentVersion: await this.#version(session), latestVersion: SCHEMA_VERSION };
    });
  }

  sql(fromVersion = 0): readonly string[] {
    if (fromVersion >= SCHEMA_VERSION) return [];
    return [this.#createVersionTable, ...this.#steps(fromVersion).flat()];
  }

  async migrate(connection: SqlConnection): Promise<SchemaStatus> {
    const session = sessionOf(connection);
    await this.#translated(() =>
      this.#withBusyTimeout(session, () => this.#withLock(session, () => this.#apply(session))),
    );
    return this.status(connection);
  }

  /** Throws a typed error unless the schema has exactly the version that this release uses. */
  async assertCurrent(connection: SqlConnection): Promise<void> {
    const { currentVersion } = await this.status(connection);
    if (currentVersion === 0) throw new OutboxSchemaMissingError(this.table);
    if (currentVersion !== SCHEMA_VERSION)
      throw new OutboxSchemaVersionError(this.table, currentVersion, SCHEMA_VERSION);
  }

  get #createVersionTable(): string {
    return `CREATE TABLE IF NOT EXISTS ${versionTableOf(this.table)} (version INT NOT NULL PRIMARY KEY)`;
  }

  /** The statements of each version after this one, each ending with the row of its version. */
  #steps(fromVersion: number): readonly (readonly string[])[] {
    return this.#versions
      .slice(fromVersion)
      .map((statements, index) => [
        ...statements,
        `INSERT INTO ${versionTableOf(this.table)} (version) VALUES (${fromVersion + index + 1})`,
      ]);
  }

  async #apply(session: SqlSession): Promise<void> {
    await session.run(this.#createVersionTable, []);
    const steps = this.#steps(await this.#version(session));
    for (const statement of steps.flat()) await this.#applyStatement(session, statement);
  }

  async #applyStatement(session: SqlSession, statement: string): Promise<void> {
    try {
      await session.run(statement, []);
    } catch (error) {
      const { code } = error as { readonly code?: string };
      if (this.dialect !== 'mysql' || !ALREADY_DONE.has(code ?? '')) throw error;
    }
  }

  /** SQLite waits for a lock as long as its connection says. The connection gets its own time back. */
  async #withBusyTimeout(session: SqlSession, work: () => Promise<void>): Promise<void> {
    if (this.dialect !== 'sqlite') return work();
    const [own] = await this.#run(session, 'PRAGMA busy_timeout');
    await session.run(`PRAGMA busy_timeout = ${LOCK_SECONDS * 1_000}`, []);
    try {
      await work();
    } finally {
      await session.run(`PRAGMA busy_timeout = ${Number(own?.['timeout'] ?? 0)}`, []);
    }
  }

  /**
   * Runs the migration while no other one runs. PostgreSQL and SQLite do it in a transaction. MySQL
   * commits each statement of a schema, so it takes a named lock of the connection.
   */
  async #withLock(session: SqlSession, migrate: () => Promise<void>): Promise<void> {
    const [begin, commit, rollback] = this.#lockStatements;
    for (const statement of begin) this.#requireLock(await this.#run(session, statement));
    try {
      await migrate();
    } catch (error) {
      await session.run(rollback, []);
      throw error;
    }
    await session.run(commit, []);
  }

  /** MySQL answers with 1 if the lock was free in time; other databases throw if it was not. */
  #requireLock([row]: readonly SqlRow[]): void {
    if (this.dialect === 'mysql' && Number(row?.['is_locked']) !== 1)
      throw new OutboxStoreException(
        `The migration of ${this.table}`,
        new Error(
          `Another migration held the lock for ${LOCK_SECONDS} seconds, or the wait was ended. Try again after it.`,
        ),
        true,
      );
  }

  get #lockStatements(): readonly [readonly string[], string, string] {
    const name = hash48(`${this.table} schema`);
    switch (this.dialect) {
      case 'postgres':
        return [['BEGIN', `SELECT pg_advisory_xact_lock(${name})`], 'COMMIT', 'ROLLBACK'];
      case 'mysql':
        return [
          [`SELECT GET_LOCK('outbox_${name}', ${LOCK_SECONDS}) AS is_locked`],
          `SELECT RELEASE_LOCK('outbox_${name}')`,
          `SELECT RELEASE_LOCK('outbox_${name}')`,
        ];
      case 'sqlite':
        return [['BEGIN IMMEDIATE'], 'COMMIT', 'ROLLBACK'];
    }
  }

  /** The version in the database; 0 if there is no table of versions. */
  async #version(session: SqlSession): Promise<number> {
    const [found] = await this.#run(session, this.#findVersionTable);
    if (Number(found?.['found'] ?? 0) === 0) return 0;
    const [row] = await this.#run(
      session,
      `SELECT COALESCE(MAX(version), 0) AS version FROM ${versionTableOf(this.table)}`,
    );
    return Number(row?.['version'] ?? 0);
  }

  get #findVersionTable(): string {
    const name = versionTableOf(this.table);
    switch (this.dialect) {
      case 'postgres':
        return `SELECT CASE WHEN to_regclass('${name}') IS NULL THEN 0 ELSE 1 END AS found`;
      case 'mysql': {
        const [last = '', schema] = name.split('.').reverse();
        return `SELECT COUNT(*) AS found FROM information_schema.tables WHERE table_name = '${last}' AND table_schema = ${schema === undefined ? 'DATABASE()' : `'${schema}'`}`;
      }
      case 'sqlite':
        return `SELECT COUNT(*) AS found FROM sqlite_master WHERE type = 'table' AND name = '${name}'`;
    }
  }

  async #run(session: SqlSession, sql: string): Promise<readonly SqlRow[]> {
    return (await session.run(sql, [])).rows;
  }

  async #translated<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      throw translateError(error, `The schema of ${this.table}`, this.table);
    }
  }
}
