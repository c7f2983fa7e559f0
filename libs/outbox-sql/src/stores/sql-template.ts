import { IllegalArgumentError, type SqlConnection } from '@nest-event-bus/outbox';
import { sessionOf } from '../connections/session-of.js';
import type { SqlDialectName, SqlResult, SqlRow, SqlValue } from '../connections/sql-session.js';
import { compile, type CompiledSql } from '../dialects/compile.js';
import { translateError } from '../errors/translate-error.js';

export type SqlParameters = Readonly<Record<string, SqlValue>>;

/**
 * Runs statements with named parameters (`:name`) on the connection of the caller. All values are
 * bound. Errors of the driver become errors of the outbox.
 */
export class SqlTemplate {
  readonly #compiled = new Map<string, CompiledSql>();

  constructor(
    readonly dialect: SqlDialectName,
    readonly table: string,
  ) {}

  async query(
    connection: SqlConnection,
    sql: string,
    parameters: SqlParameters = {},
  ): Promise<readonly SqlRow[]> {
    return (await this.#run('A query', connection, sql, parameters)).rows;
  }

  /** Returns the number of changed rows. */
  async update(
    connection: SqlConnection,
    sql: string,
    parameters: SqlParameters = {},
  ): Promise<number> {
    return (await this.#run('A write', connection, sql, parameters)).changed;
  }

  /** Returns the rows of the RETURNING clause. MySQL has none. */
  async updateReturning(
    connection: SqlConnection,
    sql: string,
    parameters: SqlParameters = {},
  ): Promise<readonly SqlRow[]> {
    return (await this.#run('A write', connection, sql, parameters)).rows;
  }

  async #run(
    operation: string,
    connection: SqlConnection,
    sql: string,
    parameters: SqlParameters,
  ): Promise<SqlResult> {
    const session = sessionOf(connection);
    if (session.dialect !== this.dialect)
      throw new IllegalArgumentError(
        `The connection is one of ${session.dialect}, and the store of ${this.table} is one of ${this.dialect}. Use OutboxStores.detect() with the same database.`,
      );
    const { text, parameters: names } = this.#compile(sql);
    const values = names.map((name) => parameters[name] ?? null);
    try {
      return await session.run(text, values);
    } catch (error) {
      throw translateError(error, `${operation} of the outbox table ${this.table}`, this.table);
    }
  }

  #compile(sql: string): CompiledSql {
    const known = this.#compiled.get(sql);
    if (known) return known;
    const compiled = compile(sql, this.dialect);
    if (this.#compiled.size < MAX_COMPILED) this.#compiled.set(sql, compiled);
    return compiled;
  }
}

/** Statements that are kept per table. */
const MAX_COMPILED = 500;
