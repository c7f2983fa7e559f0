import { EventEnvelope } from '@nest-event-bus/outbox';
import { SqlTransactionManager } from '@nest-event-bus/outbox-sql';
import type { StoreContractDatabase } from '@nest-event-bus/outbox/contract';
import {
  contractDatabase,
  type OpenedDatabase,
} from '../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';
import {
  missingDriver,
  sqliteDatabase,
} from '../../../libs/outbox-sql/src/stores/sqlite-database.spec-support.js';
import { describeWithService } from '../support/index.js';
import { openMysql, openPostgres } from './support/databases.js';

describeWithService('PostgreSQL', 'SqlTransactionManager on PostgreSQL', (url) => {
  transactionCases(() => openPostgres(url));

  it('counts a COMMIT that PostgreSQL turned into a rollback as a rollback', async () => {
    const database = await contractDatabase(openPostgres(url));
    const transactions = new SqlTransactionManager(database.provider);
    const calls: string[] = [];
    const ended = transactions.inTransaction(async (connection) => {
      transactions.context.afterCommit(() => void calls.push('commit'));
      transactions.context.afterRollback(() => void calls.push('rollback'));
      const client = connection as { query(sql: string): Promise<unknown> };
      await client.query('SELECT 1 / 0').catch(() => undefined);
    });
    await expect(ended).rejects.toMatchObject({ code: 'ILLEGAL_STATE' });
    expect(calls).toEqual(['rollback']);
    await database.close();
  });

  it('counts a COMMIT whose connection is lost as a rollback, and discards the connection', async () => {
    const opened = openPostgres(url);
    opened.pool.on('error', () => undefined);
    const database = await contractDatabase(opened);
    const transactions = new SqlTransactionManager(database.provider);
    const calls: string[] = [];
    const ended = transactions.inTransaction(async (connection) => {
      const client = connection as {
        query(sql: string, values?: unknown[]): Promise<{ rows: { pid: number }[] }>;
        on(event: 'error', listener: () => void): void;
      };
      client.on('error', () => undefined);
      transactions.context.afterCommit(() => void calls.push('commit'));
      transactions.context.afterRollback(() => void calls.push('rollback'));
      const { rows } = await client.query('SELECT pg_backend_pid() AS pid');
      await opened.pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    });
    await expect(ended).rejects.toThrow();
    expect(calls).toEqual(['rollback']);
    await transactions.inTransaction(() => Promise.resolve());
    await database.close();
  });
});

describeWithService('MySQL', 'SqlTransactionManager on MySQL', (url) => {
  transactionCases(() => openMysql(url));
});

describe('SqlTransactionManager on SQLite', () => {
  if (missingDriver('better-sqlite3') !== undefined) return;
  transactionCases(() => sqliteDatabase('better-sqlite3'));
});

function transactionCases(open: () => OpenedDatabase): void {
  let database: StoreContractDatabase;
  let transactions: SqlTransactionManager;
  let calls: string[];

  beforeEach(async () => {
    database = await contractDatabase(open());
    transactions = new SqlTransactionManager(database.provider, undefined);
    calls = [];
  });

  afterEach(() => database.close());

  const write = async (id: string): Promise<void> => {
    const { context } = transactions;
    const event = new EventEnvelope({ eventId: id, eventType: 'CREATED', payloadJson: '{}' });
    await database.store.insertNew(context.currentConnection(), event);
    context.afterCommit(() => void calls.push(`commit ${id}`));
    context.afterRollback(() => void calls.push(`rollback ${id}`));
  };
  const ids = async (): Promise<readonly string[]> =>
    (await database.readAll()).map(({ eventId }) => eventId).sort();

  it('commits, and calls back once after it', async () => {
    await transactions.inTransaction(async (connection) => {
      expect(transactions.context.currentConnection()).toBe(connection);
      await write('a');
      expect(calls).toEqual([]);
    });
    expect(calls).toEqual(['commit a']);
    expect(await ids()).toEqual(['a']);
  });

  it('rolls back if the function throws', async () => {
    const ended = transactions.inTransaction(async () => {
      await write('a');
      throw new Error('no');
    });
    await expect(ended).rejects.toThrow('no');
    expect(calls).toEqual(['rollback a']);
    expect(await ids()).toEqual([]);
  });

  it('uses a savepoint within a transaction, and calls back at the outermost commit', async () => {
    await transactions.inTransaction(async () => {
      await write('outer');
      await transactions.inTransaction(() => write('inner'));
      const failed = transactions.inTransaction(async () => {
        await write('failed');
        throw new Error('no');
      });
      await expect(failed).rejects.toThrow('no');
      expect(calls).toEqual(['rollback failed']);
      calls = [];
    });
    expect(calls).toEqual(['commit outer', 'commit inner']);
    expect(await ids()).toEqual(['inner', 'outer']);
  });

  it('rolls a committed savepoint back with its transaction', async () => {
    const ended = transactions.inTransaction(async () => {
      await transactions.inTransaction(() => write('inner'));
      throw new Error('no');
    });
    await expect(ended).rejects.toThrow('no');
    expect(calls).toEqual(['rollback inner']);
    expect(await ids()).toEqual([]);
  });

  it('keeps concurrent transactions apart', async () => {
    await Promise.all(
      ['a', 'b', 'c', 'd']
        .map((id) =>
          transactions.inTransaction(async (connection) => {
            await Promise.resolve();
            await write(id);
            expect(transactions.context.currentConnection()).toBe(connection);
            if (id === 'b') throw new Error('no');
          }),
        )
        .map((ended) => ended.catch(() => undefined)),
    );
    expect([...calls].sort()).toEqual(['commit a', 'commit c', 'commit d', 'rollback b']);
    expect(await ids()).toEqual(['a', 'c', 'd']);
  });

  it('is refused outside a transaction, and after it has ended', async () => {
    const { context } = transactions;
    const required = expect.objectContaining({ code: 'OUTBOX_TRANSACTION_REQUIRED' });
    expect(context.isTransactionActive()).toBe(false);
    expect(() => context.currentConnection()).toThrow(required);
    expect(() => context.afterCommit(() => undefined)).toThrow(required);
    let late: Promise<void> | undefined;
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    await transactions.inTransaction(() => {
      late = gate.then(() => write('late'));
      return Promise.resolve();
    });
    go();
    await expect(late).rejects.toMatchObject({ code: 'ILLEGAL_STATE' });
  });
}
