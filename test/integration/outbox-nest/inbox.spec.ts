import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { withConnection } from '@nest-event-bus/outbox';
import { Inbox, OutboxTransactions } from '@nest-event-bus/outbox-nest';
import {
  openSqlDatabase,
  type OpenedSqlDatabase,
  SqlInbox,
  SqlInboxSchema,
  SqlTemplate,
} from '@nest-event-bus/outbox-sql';
import { createPool } from 'mysql2/promise';
import { openSqlite } from '../../../libs/outbox-sql/src/stores/sqlite-database.spec-support.js';
import { describeWithService } from '../support/index.js';
import { type OrmKit, postgresKits, sqliteKits } from './orm-kits.js';

/** How a database is named for the outbox, and for the handlers. */
type Open = () => Promise<{ readonly url: string; readonly kit: OrmKit }>;

function inboxSuite(open: Open): void {
  let kit: OrmKit;
  let opened: OpenedSqlDatabase;
  let inbox: Inbox;
  let template: SqlTemplate;
  const table = `inbox_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  const data = `${table}_data`;
  const run = (statement: string): Promise<unknown> =>
    withConnection(opened.provider, (connection) => template.update(connection, statement));

  beforeAll(async () => {
    const found = await open();
    kit = found.kit;
    opened = await openSqlDatabase(found.url, { maxConnections: 2 });
    template = new SqlTemplate(opened.dialect, table);
    const schema = new SqlInboxSchema(opened.dialect, table);
    for (let time = 0; time < 2; time++)
      await withConnection(opened.provider, (connection) => schema.migrate(connection));
    await run(`CREATE TABLE ${data} (id VARCHAR(20))`);
    inbox = new Inbox(new OutboxTransactions(), { tableName: table });
  }, 120_000);
  beforeEach(async () => {
    await run(`DELETE FROM ${table}`);
    await run(`DELETE FROM ${data}`);
  });
  afterAll(async () => {
    await kit.close();
    for (const name of [table, data]) await run(`DROP TABLE ${name}`);
    await opened.close();
  }, 120_000);

  const insert = (tx: object, id: string): Promise<unknown> =>
    kit.run(tx, `INSERT INTO ${data} (id) VALUES ('${id}')`);
  const ids = (): Promise<readonly string[]> =>
    withConnection(opened.provider, async (connection) =>
      (await template.query(connection, `SELECT id FROM ${data} ORDER BY id`)).map(({ id }) =>
        String(id),
      ),
    );
  const handle = (messageId: string, consumer = 'shop'): Promise<{ readonly kind: string }> =>
    inbox.handle(kit.database, { consumer, messageId }, (tx) => insert(tx, messageId));

  it('handles a message once, for each consumer', async () => {
    expect((await handle('m1')).kind).toBe('handled');
    expect(await handle('m1')).toEqual({ kind: 'duplicate' });
    expect((await handle('m2')).kind).toBe('handled');
    expect((await handle('m1', 'billing')).kind).toBe('handled');
    expect(await ids()).toEqual(['m1', 'm1', 'm2']);
  });

  it('distinguishes ids that differ only in their case or in spaces', async () => {
    for (const id of ['m', 'M', 'm ']) expect((await handle(id)).kind).toBe('handled');
  });

  it('forgets a message whose handler has thrown, with everything that it has written', async () => {
    const failing = inbox.handle(
      kit.database,
      { consumer: 'shop', messageId: 'm1' },
      async (tx) => {
        await insert(tx, 'lost');
        throw new Error('no');
      },
    );
    await expect(failing).rejects.toThrow('no');
    expect((await handle('m1')).kind).toBe('handled');
    expect(await ids()).toEqual(['m1']);
  });

  it('calls one handler for simultaneous deliveries of a message', async () => {
    if (kit.oneAtATime) return;
    const results = await Promise.all(Array.from({ length: 8 }, () => handle('m1')));
    expect(results.filter(({ kind }) => kind === 'handled')).toHaveLength(1);
    expect(await ids()).toEqual(['m1']);
  });

  it('claims a message in a transaction that the application has begun itself', async () => {
    const { begin } = kit;
    if (!begin) return;
    const claim = (): Promise<boolean> =>
      begin((tx) => inbox.claim(tx, { consumer: 'shop', messageId: 'm1' }));
    expect([await claim(), await claim()]).toEqual([true, false]);
    await expect(
      inbox.claim(kit.database, { consumer: 'shop', messageId: 'm2' }),
    ).rejects.toMatchObject({ code: 'OUTBOX_TRANSACTION_REQUIRED' });
  });

  it('forgets messages after the retention, as many as the limit says', async () => {
    for (const id of ['m1', 'm2', 'm3']) await handle(id);
    const sql = new SqlInbox(opened.dialect, table);
    const purge = (before: number, limit: number): Promise<number> =>
      withConnection(opened.provider, (connection) => sql.purge(connection, before, limit));
    expect(await purge(Date.now() - 3_600_000, 10)).toBe(0);
    expect(await purge(Date.now() + 3_600_000, 2)).toBe(2);
    expect((await handle('m3')).kind).toBe('duplicate');
    expect((await handle('m1')).kind).toBe('handled');
  });

  it('refuses messages without an id, or with one that is too long', async () => {
    for (const id of ['', 'x'.repeat(256)])
      await expect(handle(id)).rejects.toMatchObject({ code: 'ILLEGAL_ARGUMENT' });
    expect((await handle('x'.repeat(20))).kind).toBe('handled');
  });

  it('names the table if it is missing', async () => {
    const missing = new Inbox(new OutboxTransactions(), { tableName: `${table}_missing` });
    await expect(
      missing.handle(kit.database, { consumer: 'c', messageId: 'm' }, async () => undefined),
    ).rejects.toThrow(`${table}_missing`);
  });
}

describeWithService('PostgreSQL', 'Inbox on PostgreSQL', (url) => {
  describe.each(Object.entries(postgresKits))('with %s', (_, open) => {
    inboxSuite(async () => ({ url, kit: await open(url) }));
  });
});

describeWithService('MySQL', 'Inbox on MariaDB', (url) => {
  const { pathname } = new URL(url);
  const uri = pathname.length > 1 ? url : `${url}/test`;
  inboxSuite(async () => {
    const pool = createPool({ uri, connectionLimit: 8 });
    return {
      url: uri,
      kit: {
        database: pool,
        run: (tx, statement) => (tx as typeof pool).query(statement),
        close: () => pool.end(),
      },
    };
  });
});

describe('Inbox on SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'inbox-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  describe.each(Object.entries(sqliteKits))('with %s', (name, open) => {
    const file = join(folder, `${name}.db`);
    inboxSuite(async () => {
      openSqlite('better-sqlite3', file).close();
      return { url: `sqlite:${file}`, kit: await open(file) };
    });
  });
});

describe('Inbox', () => {
  it('refuses to work if the option inbox is not set, because nothing would be purged', async () => {
    const database = openSqlite();
    const inbox = new Inbox(new OutboxTransactions(), undefined);
    await expect(
      inbox.handle(database, { consumer: 'c', messageId: 'm' }, async () => undefined),
    ).rejects.toMatchObject({ code: 'ILLEGAL_STATE' });
    database.close();
  });
});
