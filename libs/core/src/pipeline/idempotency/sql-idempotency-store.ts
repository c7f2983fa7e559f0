import { realRuntime, sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';
import { runnerOf, type RunSql, type SqlConnection, type SqlResult } from './sql-clients.js';
import {
  MAX_ROWS_PER_STATEMENT,
  SQL_DIALECTS,
  type SqlDialect,
  type SqlStatement,
  type SqlValue,
} from './sql-dialects.js';

/** Options of `sqlIdempotencyStore`. The application owns the client and closes it. */
export type SqlIdempotencyStoreOptions = SqlConnection & {
  /** The name of the table, as `table` or `schema.table`. Default `eventbus_idempotency`. */
  readonly table?: string;
  /** Replaced in tests. Default: the real clock. */
  readonly runtime?: Runtime;
};

const TABLE = /^([A-Za-z_]\w{0,62}\.)?[A-Za-z_]\w{0,49}$/;

/**
 * Number of marks after which expired rows are deleted. A purge deletes more rows than were added
 * since the last one.
 */
const MARKS_BETWEEN_PURGES = MAX_ROWS_PER_STATEMENT / 2;

/**
 * Maximum of attempts after conflicts between transactions. The delays grow and are random, because
 * two statements that are repeated at the same time would conflict again.
 */
const MAX_TRIES = 8;
const MIN_PAUSE_MS = 4;
const TRANSIENT_CODES = [
  'ER_LOCK_DEADLOCK',
  'ER_LOCK_WAIT_TIMEOUT',
  '40001',
  '40P01',
  'SQLITE_BUSY',
];
/** SQLITE_BUSY as node:sqlite reports it, in `errcode`. */
const NODE_SQLITE_BUSY = 5;

/**
 * Creates a store for all processes that use the database. Call `createTable()` once, or create the
 * same table yourself.
 */
export function sqlIdempotencyStore(options: SqlIdempotencyStoreOptions): SqlIdempotencyStore {
  return new SqlIdempotencyStore(options);
}

export class SqlIdempotencyStore implements IdempotencyStore {
  readonly #run: RunSql;
  readonly #dialect: SqlDialect;
  readonly #runtime: Runtime;
  #marks = 0;

  constructor({
    table = 'eventbus_idempotency',
    runtime = realRuntime,
    ...connection
  }: SqlIdempotencyStoreOptions) {
    const dialect = Object.hasOwn(SQL_DIALECTS, connection.dialect)
      ? SQL_DIALECTS[connection.dialect]
      : undefined;
    if (!dialect)
      throw new RangeError(
        `sqlIdempotencyStore knows the dialects ${Object.keys(SQL_DIALECTS).join(', ')}; got '${connection.dialect}'. Choose one of them.`,
      );
    if (!TABLE.test(table))
      throw new RangeError(
        `sqlIdempotencyStore({ table }) takes a name of letters, digits and '_', with its schema in front where it has one; got '${table}'.`,
      );
    this.#dialect = dialect(table);
    this.#run = runnerOf(connection);
    this.#runtime = runtime;
  }

  /** Creates the table if it does not exist. */
  async createTable(): Promise<void> {
    for (const sql of this.#dialect.createTable) {
      // If several processes create the table at the same time, PostgreSQL refuses all but one, so
      // the statement is repeated once.
      await this.#run(sql, []).catch(() => this.#run(sql, []));
    }
  }

  async claim(key: string, owner: string, leaseMs: number): Promise<ClaimAnswer> {
    const { claim, read, countsClaims } = this.#dialect;
    const { changed } = await this.#execute(claim, { key, owner, milliseconds: leaseMs });
    if (countsClaims && changed === 1) return 'new';
    const { rows } = await this.#execute(read, { key });
    const [row] = rows;
    // The row has expired between the two statements. The next claim gets the key.
    if (!row) return 'in-progress';
    if (row['owner'] === null) return 'done';
    return row['owner'] === owner ? 'new' : 'in-progress';
  }

  async complete(key: string, ttlMs: number): Promise<void> {
    await this.#execute(this.#dialect.complete, { key, milliseconds: ttlMs });
    this.#marks += 1;
    if (this.#marks % MARKS_BETWEEN_PURGES > 0) return;
    // A failed purge does not fail the call, because the mark is written. The next purge finds the
    // old rows as well.
    await this.purge().catch(() => 0);
  }

  async release(key: string, owner: string): Promise<void> {
    await this.#execute(this.#dialect.release, { key, owner });
  }

  /**
   * Deletes up to a thousand expired rows, and returns their number. Called by `complete` from time
   * to time as well.
   */
  async purge(): Promise<number> {
    const { changed } = await this.#execute(this.#dialect.purge, {});
    return changed;
  }

  /** Yields every key that is marked as done. */
  async *completedKeys(): AsyncGenerator<string, void, undefined> {
    for (let key = ''; ;) {
      const { rows } = await this.#execute(this.#dialect.listDone, { key });
      for (const row of rows) yield (key = String(row['record_key']));
      if (rows.length < MAX_ROWS_PER_STATEMENT) return;
    }
  }

  async #execute(
    { sql, values }: SqlStatement,
    given: Readonly<Partial<Record<SqlValue, string | number>>>,
  ): Promise<SqlResult> {
    const bound = values.map((name) => {
      const value = given[name] ?? '';
      return typeof value === 'number' ? Math.ceil(value) : value;
    });
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#run(sql, bound);
      } catch (error) {
        if (attempt === MAX_TRIES || !isTransient(error)) throw error;
        const longest = 2 * MIN_PAUSE_MS * 2 ** (attempt - 1);
        await sleep(this.#runtime, (longest * (1 + this.#runtime.random())) / 2);
      }
    }
  }
}

function isTransient(error: unknown): boolean {
  const { code, errcode } = (error ?? {}) as {
    readonly code?: unknown;
    readonly errcode?: unknown;
  };
  if (code === 'ERR_SQLITE_ERROR') return errcode === NODE_SQLITE_BUSY;
  return TRANSIENT_CODES.includes(String(code));
}
