import { withConnection } from '@nest-event-bus/outbox';
import {
  PoolConnectionProvider,
  PostgresEventPurger,
  PostgresOutboxStore,
  SqlOutboxSchema,
} from '@nest-event-bus/outbox-sql';
import pg from 'pg';

const URL = process.env.POSTGRES_URL ?? 'postgres://postgres@127.0.0.1:5432/test';

/** An outbox table of its own for one bench. */
export class OutboxTable {
  static async create() {
    const outbox = new OutboxTable(`outbox_bench_${process.pid}`);
    await outbox.run((connection) => outbox.schema.migrate(connection));
    return outbox;
  }

  constructor(name) {
    this.name = name;
    this.pool = new pg.Pool({ connectionString: URL, max: 16 });
    this.provider = new PoolConnectionProvider(this.pool);
    this.store = new PostgresOutboxStore({ tableName: name });
    this.schema = new SqlOutboxSchema('postgres', { tableName: name });
    this.purger = new PostgresEventPurger(name);
  }

  run(work) {
    return withConnection(this.provider, work);
  }

  /** Throws if the database may lose a commit: the figures would mean nothing. */
  async requireDurable() {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes']) {
      const { rows } = await this.pool.query(`SHOW ${setting}`);
      if (rows[0][setting] !== 'on') throw new Error(`${setting} is ${rows[0][setting]}`);
    }
  }

  /** Writes events with one statement. `keyOf` is an SQL expression of the number n. */
  async fill(count, { keyOf = 'n % 1000', status = 0, first = 1 } = {}) {
    const key = keyOf === null ? 'NULL' : keyOf;
    await this.pool.query(
      `INSERT INTO ${this.name} (event_id, event_type, aggregate_type, aggregate_id, payload, headers, status, available_at, created_at, done_at, key_hash)
       SELECT lpad(n::text, 26, '0'), 'OrderCreated', 'ORDER', (${key})::text,
         convert_to('{"id":' || n || ',"text":"' || repeat('x', 180) || '"}', 'UTF8'), '{"trace":"abc"}', ${status},
         now(), now(), ${status === 1 ? "now() - interval '8 days'" : 'NULL'}, (${key})::bigint
       FROM generate_series(${first}::bigint, ${first + count - 1}::bigint) AS n`,
    );
    await this.pool.query(`ANALYZE ${this.name}`);
  }

  /** Throws if an event waits for its completion. */
  async requireFinished() {
    const { rows } = await this.pool.query(
      `SELECT count(*) AS waiting FROM ${this.name} WHERE status <> 1`,
    );
    if (rows[0].waiting !== '0') throw new Error(`${rows[0].waiting} events are not completed`);
  }

  async clear() {
    await this.pool.query(`TRUNCATE ${this.name}`);
  }

  async drop() {
    await this.pool.query(`DROP TABLE ${this.name}, ${this.name}_schema`);
    await this.pool.end();
  }
}
