import { AsyncLocalStorage } from 'node:async_hooks';
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { EventEnvelope, OutboxWriter, withConnection } from '@nest-event-bus/outbox';
import { OutboxTransactions } from '@nest-event-bus/outbox-nest';
import {
  openSqlDatabase,
  OutboxStores,
  SqlOutboxSchema,
  SqlTemplate,
} from '@nest-event-bus/outbox-sql';
import { describeWithService } from '../support/index.js';
import { type OrmKit, postgresKits, sqliteKits } from './orm-kits.js';

interface Setup {
  readonly kit: OrmKit;
  readonly transactions: OutboxTransactions;
  readonly writer: OutboxWriter;
  /** What the hook of the writer was told, in order. */
  readonly ends: string[];
  readonly outboxTable: string;
  readonly dataTable: string;
  run(statement: string): Promise<unknown>;
  close(): Promise<void>;
  events(): Promise<readonly string[]>;
  data(): Promise<readonly string[]>;
  insert(tx: object, id: string): Promise<unknown>;
}

const event = (eventId: string): EventEnvelope =>
  new EventEnvelope({
    eventId,
    eventType: 'A',
    aggregateType: 'ORDER',
    aggregateId: '1',
    payloadJson: '{"a":1}',
  });

function transactionSuite(open: () => Promise<Setup>): void {
  let setup: Setup;
  beforeAll(async () => (setup = await open()), 120_000);
  afterAll(() => setup.close(), 120_000);
  beforeEach(async () => {
    setup.ends.length = 0;
    await setup.run(`DELETE FROM ${setup.outboxTable}`);
    await setup.run(`DELETE FROM ${setup.dataTable}`);
  });

  const refused = (work: Promise<unknown>): Promise<unknown> =>
    work.then(
      () => Promise.reject(new Error('It did not fail.')),
      (error: unknown) => error,
    );

  it('commits data and event together, and tells the hook after the commit', async () => {
    const { kit, transactions, writer } = setup;
    await transactions.transaction(kit.database, async (tx) => {
      await setup.insert(tx, 'd1');
      await writer.write(event('e1'));
      expect(setup.ends).toEqual([]);
    });
    expect(setup.ends).toEqual(['commit e1']);
    expect([await setup.data(), await setup.events()]).toEqual([['d1'], ['e1']]);
  });

  it('leaves neither data nor event after a rollback', async () => {
    const { kit, transactions, writer } = setup;
    await refused(
      transactions.transaction(kit.database, async (tx) => {
        await setup.insert(tx, 'd1');
        await writer.write(event('e1'));
        throw new Error('no');
      }),
    );
    expect(setup.ends).toEqual(['rollback e1']);
    expect([await setup.data(), await setup.events()]).toEqual([[], []]);
  });

  it('uses a savepoint for a nested call, whose rollback leaves the rest', async () => {
    const { kit, transactions, writer } = setup;
    await transactions.transaction(kit.database, async (tx) => {
      await writer.write(event('e1'));
      await refused(
        transactions.transaction(tx, async () => {
          await setup.insert(tx, 'lost');
          await writer.write(event('lost'));
          throw new Error('no');
        }),
      );
      await transactions.transaction(kit.database, async (nested) => {
        await setup.insert(nested, 'd2');
        await writer.write(event('e2'));
      });
      expect(setup.ends).toEqual(['rollback lost']);
    });
    expect(setup.ends).toEqual(['rollback lost', 'commit e1', 'commit e2']);
    expect([await setup.data(), await setup.events()]).toEqual([['d2'], ['e1', 'e2']]);
  });

  it('takes a failed COMMIT for a rollback', async () => {
    const { kit, transactions, writer } = setup;
    if (kit.leavesFailedCommitOpen) return;
    await refused(
      transactions.transaction(kit.database, async (tx) => {
        await setup.kit.run(
          tx,
          `INSERT INTO ${setup.dataTable} (id, parent) VALUES ('d1', 'nobody')`,
        );
        await writer.write(event('e1'));
      }),
    );
    expect(setup.ends).toEqual(['rollback e1']);
    expect([await setup.data(), await setup.events()]).toEqual([[], []]);
  });

  it('refuses to write outside a transaction, and after its end', async () => {
    const { kit, transactions, writer } = setup;
    let leaked: (() => Promise<unknown>) | undefined;
    expect(await refused(writer.write(event('e1')))).toMatchObject({
      code: 'OUTBOX_TRANSACTION_REQUIRED',
    });
    await transactions.transaction(kit.database, async () => {
      leaked = () => writer.write(event('e1'));
      await Promise.resolve();
    });
    expect(await refused(leaked?.() ?? Promise.resolve())).toHaveProperty('code');
    expect(await setup.events()).toEqual([]);
  });

  it('refuses to write in a callback that has lost the context, and never elsewhere', async () => {
    const { kit, transactions, writer } = setup;
    // Binds a function to the context of this moment, as an event emitter of a pool does.
    const exit = AsyncLocalStorage.snapshot();
    await transactions.transaction(kit.database, async () => {
      const error = await exit(() => refused(writer.write(event('e1'))));
      expect(error).toMatchObject({ code: 'OUTBOX_TRANSACTION_REQUIRED' });
    });
    expect(await setup.events()).toEqual([]);
  });

  it('refuses a handle that is not in a transaction, by its name', () => {
    const { kit, transactions } = setup;
    expect(() => transactions.writerFor(kit.database)).toThrow(
      /The handle of .* is not in a transaction/,
    );
  });

  it('writes in a transaction that the application has begun itself', async () => {
    const { kit, transactions } = setup;
    if (!kit.begin) return;
    await kit.begin(async (tx) => {
      await setup.insert(tx, 'd1');
      await transactions.writerFor(tx).write(event('e1'));
    });
    expect([await setup.data(), await setup.events()]).toEqual([['d1'], ['e1']]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(setup.ends).toEqual(kit.tellsCommit ? ['commit e1'] : []);
    await refused(
      kit.begin(async (tx) => {
        await transactions.writerFor(tx).write(event('e2'));
        throw new Error('no');
      }),
    );
    await new Promise((resolve) => setImmediate(resolve));
    expect(setup.ends).toEqual(kit.tellsCommit ? ['commit e1', 'rollback e2'] : []);
    expect(await setup.events()).toEqual(['e1']);
  });

  it('keeps concurrent transactions apart', async () => {
    const { kit, transactions, writer } = setup;
    if (kit.oneAtATime) return;
    await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        transactions
          .transaction(kit.database, async (tx) => {
            await setup.insert(tx, `d${index}`);
            await writer.write(event(`e${index}`));
            if (index % 2) throw new Error('no');
          })
          .catch(() => undefined),
      ),
    );
    expect([await setup.data(), await setup.events()]).toEqual([
      ['d0', 'd2', 'd4'],
      ['e0', 'e2', 'e4'],
    ]);
  });
}

async function setUp(kit: OrmKit, url: string): Promise<Setup> {
  const { provider, dialect, close } = await openSqlDatabase(url, { maxConnections: 2 });
  const outboxTable = `outbox_orm_${randomUUID().replaceAll('-', '').slice(0, 12)}`;
  const dataTable = `${outboxTable}_data`;
  const template = new SqlTemplate(dialect, outboxTable);
  const run = (statement: string): Promise<unknown> =>
    withConnection(provider, (connection) => template.update(connection, statement));
  const ids = (table: string, column: string): Promise<readonly string[]> =>
    withConnection(provider, async (connection) => {
      const rows = await template.query(
        connection,
        `SELECT ${column} AS id FROM ${table} ORDER BY 1`,
      );
      return rows.map(({ id }) => String(id));
    });
  const schema = new SqlOutboxSchema(dialect, { tableName: outboxTable });
  await withConnection(provider, (connection) => schema.migrate(connection));
  await run(
    `CREATE TABLE ${dataTable} (id VARCHAR(20) PRIMARY KEY, parent VARCHAR(20) REFERENCES ${dataTable} (id) DEFERRABLE INITIALLY DEFERRED)`,
  );
  const transactions = new OutboxTransactions();
  const ends: string[] = [];
  const told =
    (end: string) =>
    (events: readonly EventEnvelope[]): void =>
      void ends.push(...events.map(({ eventId }) => `${end} ${eventId}`));
  const hook = { afterCommit: told('commit'), afterRollback: told('rollback') };
  const store = OutboxStores.detect(url, { tableName: outboxTable });
  const writer = new OutboxWriter(transactions.context, store, hook);
  transactions.useWriter(() => writer);
  return {
    kit,
    transactions,
    writer,
    ends,
    run,
    outboxTable,
    dataTable,
    events: () => ids(outboxTable, 'event_id'),
    data: () => ids(dataTable, 'id'),
    insert: (tx, id) => kit.run(tx, `INSERT INTO ${dataTable} (id) VALUES ('${id}')`),
    close: async () => {
      await kit.close();
      const tables = await tablesLike(outboxTable);
      for (const table of tables) await run(`DROP TABLE ${table}`);
      await close();
    },
  };

  async function tablesLike(prefix: string): Promise<readonly string[]> {
    const [catalog, column] =
      dialect === 'sqlite'
        ? ["sqlite_master WHERE type = 'table' AND", 'name']
        : ['pg_tables WHERE', 'tablename'];
    return ids(`${catalog} ${column} LIKE '${prefix}%'`, column);
  }
}

describeWithService('PostgreSQL', 'OutboxTransactions on PostgreSQL', (url) => {
  describe.each(Object.entries(postgresKits))('with %s', (_, open) => {
    transactionSuite(async () => setUp(await open(url), url));
  });
});

describe('OutboxTransactions on SQLite', () => {
  const folder = mkdtempSync(join(tmpdir(), 'outbox-orm-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  describe.each(Object.entries(sqliteKits))('with %s', (name, open) => {
    const file = join(folder, `${name}.db`);
    transactionSuite(async () => setUp(await open(file), `sqlite:${file}`));
  });
});
