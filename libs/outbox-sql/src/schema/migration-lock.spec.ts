import type { SqlResult, SqlSession } from '../connections/sql-session.js';
import { missingDriver, openSqlite } from '../stores/sqlite-database.spec-support.js';
import { SqlOutboxSchema } from './sql-outbox-schema.js';

/** A connection of MySQL on which the named lock has this answer. */
class MysqlWithLock implements SqlSession {
  readonly dialect = 'mysql';
  readonly statements: string[] = [];

  constructor(private readonly answer: number | null) {}

  run(sql: string): Promise<SqlResult> {
    this.statements.push(sql);
    const rows = sql.includes('GET_LOCK') ? [{ is_locked: this.answer }] : [];
    return Promise.resolve({ rows, changed: 0 });
  }
}

describe('The migration on MySQL', () => {
  it.each([0, null])('changes nothing if its lock answers %p', async (answer) => {
    const session = new MysqlWithLock(answer);
    await expect(new SqlOutboxSchema('mysql').migrate(session)).rejects.toMatchObject({
      code: 'OUTBOX_STORE_FAILED',
      retriable: true,
    });
    expect(session.statements).toHaveLength(1);
  });

  it('begins with its lock, and gives it back', async () => {
    const session = new MysqlWithLock(1);
    await new SqlOutboxSchema('mysql').migrate(session);
    expect(session.statements[0]).toContain('GET_LOCK');
    expect(session.statements.filter((sql) => sql.includes('RELEASE_LOCK'))).toHaveLength(1);
  });
});

describe('The migration on SQLite', () => {
  const driver = 'better-sqlite3';
  if (missingDriver(driver) !== undefined) return;

  it.each(['succeeds', 'fails'])('leaves the busy timeout as it was if it %s', async (end) => {
    const database = openSqlite(driver);
    database.exec('PRAGMA busy_timeout = 1234');
    // A view of this name makes the first statement fail.
    if (end === 'fails') database.exec('CREATE VIEW outbox_event_schema AS SELECT 1 AS other');
    const migrated = new SqlOutboxSchema('sqlite').migrate(database);
    if (end === 'fails') await expect(migrated).rejects.toThrow();
    else await migrated;
    expect(database.prepare('PRAGMA busy_timeout').all()).toEqual([{ timeout: 1_234 }]);
    database.close();
  });
});
