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

/** Options of `sqlIdempotencyStore`. The application owns the client, and closes it. */
export type SqlIdempotencyStoreOptions = SqlConnection & {
  /** The name of the table, as `table` or `schema.table`. Default `eventbus_idempotency`. */
  readonly table?: string;
  /** Replaced in tests. Default: the real clock. */
  readonly runtime?: Runtime;
};

const TABLE = /^([A-Za-z_]\w{0,62}\.)?[A-Za-z_]\w{0,49}$/;

/**
 * The number of marks after which expired rows are deleted. A purge deletes more rows than were
 * added.
 */
const MARKS_BETWEEN_PURGES = MAX_ROWS_PER_STATEMENT / 2;

/**
 * Conflicts between transactions are retried with growing, random pauses. Two that were refused
 * together and come back together would be refused again.
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
        `sqlIdempotencyStore knows the dialects ${Object.keys(SQL_DIALECTS).join(', ')}; got '${connection.dialect}'.`,
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
      // If several processes create the table at once, PostgreSQL refuses all but one.
      await this.#run(sql, []).catch(() => this.#run(sql, []));
    }
  }

  async claim(key: string, owner: string, leaseMs: number): Promise<ClaimAnswer> {
    const { claim, read, countsClaims } = this.#dialect;
    const { changed } = await this.#execute(claim, { key, owner, milliseconds: leaseMs });
    if (countsClaims && changed === 1) return 'new';
    const { rows } = await this.#execute(read, { key });
    const [row] = rows;
    // The row has expired in between. The next claim gets it.
    if (!row) return 'in-progress';
    if (row['owner'] === null) return 'done';
    return row['owner'] === owner ? 'new' : 'in-progress';
  }

  async complete(key: string, ttlMs: number): Promise<void> {
    await this.#execute(this.#dialect.complete, { key, milliseconds: ttlMs });
    this.#marks += 1;
    if (this.#marks % MARKS_BETWEEN_PURGES > 0) return;
    // The mark is written, even if the purge fails. The next purge finds the old rows as well.
    await this.purge().catch(() => 0);
  }

  async release(key: string, owner: string): Promise<void> {
    await this.#execute(this.#dialect.release, { key, owner });
  }

  /**
   * Deletes up to a thousand expired rows, and returns their number. Marking records also does this
   * from time to time.
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
  return TRANSIENT_CODES.includes(String((error as { readonly code?: unknown } | undefined)?.code));
}
