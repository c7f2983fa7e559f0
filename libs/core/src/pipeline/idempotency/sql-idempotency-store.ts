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

/** The client stays yours, also to close. */
export type SqlIdempotencyStoreOptions = SqlConnection & {
  /** `table` or `schema.table`. Default `eventbus_idempotency`. */
  readonly table?: string;
  /** Default: the real one. */
  readonly runtime?: Runtime;
};

const TABLE = /^([A-Za-z_]\w{0,62}\.)?[A-Za-z_]\w{0,49}$/;

/** So many marks on, the first rows whose time is over are deleted: more than were added. */
const MARKS_BETWEEN_PURGES = MAX_ROWS_PER_STATEMENT / 2;

/**
 * What transactions do to each other is repeated, each time after a longer pause that nobody shares:
 * whoever is refused together and comes back together is refused again.
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

/** For all processes that use the database. Call `createTable()` once, or create the table as it does. */
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

  /** Creates the table where it is not there. */
  async createTable(): Promise<void> {
    for (const sql of this.#dialect.createTable) {
      // Of several processes that do it at once, PostgreSQL refuses all but one.
      await this.#run(sql, []).catch(() => this.#run(sql, []));
    }
  }

  async claim(key: string, owner: string, leaseMs: number): Promise<ClaimAnswer> {
    const { claim, read, countsClaims } = this.#dialect;
    const { changed } = await this.#execute(claim, { key, owner, milliseconds: leaseMs });
    if (countsClaims && changed === 1) return 'new';
    const { rows } = await this.#execute(read, { key });
    const [row] = rows;
    // Gone in between: whoever asks again gets it.
    if (!row) return 'in-progress';
    if (row['owner'] === null) return 'done';
    return row['owner'] === owner ? 'new' : 'in-progress';
  }

  async complete(key: string, ttlMs: number): Promise<void> {
    await this.#execute(this.#dialect.complete, { key, milliseconds: ttlMs });
    this.#marks += 1;
    if (this.#marks % MARKS_BETWEEN_PURGES > 0) return;
    // The mark is made, whatever becomes of the old rows: the next purge finds those, too.
    await this.purge().catch(() => 0);
  }

  async release(key: string, owner: string): Promise<void> {
    await this.#execute(this.#dialect.release, { key, owner });
  }

  /** Deletes at most a thousand rows whose time is over, and says how many. It happens by itself as records are marked. */
  async purge(): Promise<number> {
    const { changed } = await this.#execute(this.#dialect.purge, {});
    return changed;
  }

  /** Every key that is done. */
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
