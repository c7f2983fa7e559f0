import { dialectOf, type SqlResult, type SqlRow } from '@nest-event-bus/outbox-sql';
import { hasFunctions, type TransactionAdapter } from './transaction-adapter.js';

interface KyselyHandle {
  readonly isTransaction: boolean;
  transaction(): { execute<T>(work: (tx: object) => Promise<T>): Promise<T> };
  getExecutor(): { readonly adapter: object };
  executeQuery(query: object): Promise<{
    readonly rows: readonly unknown[];
    readonly numAffectedRows?: bigint;
  }>;
}

const kyselyOf = (handle: object): KyselyHandle => handle as KyselyHandle;

export const kysely: TransactionAdapter = {
  name: 'Kysely',
  matches: (handle) => hasFunctions(handle, 'executeQuery', 'selectFrom', 'transaction'),
  isInTransaction: (handle) => kyselyOf(handle).isTransaction,
  transaction: (database, work) => kyselyOf(database).transaction().execute(work),
  connectionOf: (tx) => ({
    dialect: dialectOf({ dialect: dialectName(tx) }) ?? 'postgres',
    async run(sql: string, values: readonly unknown[]): Promise<SqlResult> {
      const { rows, numAffectedRows } = await kyselyOf(tx).executeQuery({
        query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
        queryId: { queryId: 'outbox' },
        sql,
        parameters: values,
      });
      return {
        rows: rows as readonly SqlRow[],
        changed: Number(numAffectedRows ?? rows.length),
      };
    },
  }),
};

/** `PostgresAdapter` gives `postgres`. */
const dialectName = (handle: object): string =>
  kyselyOf(handle)
    .getExecutor()
    .adapter.constructor.name.replace(/Adapter$/, '')
    .toLowerCase();
