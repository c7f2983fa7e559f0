import type { TxCallback } from '@nest-event-bus/outbox';
import { dialectOf, type SqlResult, type SqlRow } from '@nest-event-bus/outbox-sql';
import { hasFunctions, type TransactionAdapter } from './transaction-adapter.js';

interface QueryRunner {
  readonly isTransactionActive: boolean;
  query(
    sql: string,
    values: readonly unknown[],
    structured: true,
  ): Promise<{ readonly records?: readonly unknown[]; readonly affected?: number }>;
}

interface TransactionEvent {
  readonly queryRunner: QueryRunner;
}

interface DataSource {
  readonly options: { readonly type: string };
  readonly subscribers: object[];
}

interface Manager {
  readonly queryRunner?: QueryRunner;
  readonly connection: DataSource;
  readonly dataSource?: DataSource;
  transaction<T>(work: (tx: object) => Promise<T>): Promise<T>;
}

interface End {
  readonly committed: TxCallback;
  readonly rolledBack: TxCallback;
}

const managerOf = (handle: object): Manager => handle as Manager;
const dataSourceOf = (tx: object): DataSource =>
  managerOf(tx).dataSource ?? managerOf(tx).connection;

export const typeorm: TransactionAdapter = {
  name: 'TypeORM',
  matches: (handle) => hasFunctions(handle, 'transaction', 'getRepository'),
  isInTransaction: (handle) => managerOf(handle).queryRunner?.isTransactionActive === true,
  transaction: (database, work) => managerOf(database).transaction(work),
  connectionOf(tx) {
    const { type } = dataSourceOf(tx).options;
    return {
      dialect: dialectOf({ dialect: type }) ?? 'postgres',
      async run(sql: string, values: readonly unknown[]): Promise<SqlResult> {
        const { records, affected } =
          (await managerOf(tx).queryRunner?.query(sql, values, true)) ?? {};
        const rows = (records ?? []) as readonly SqlRow[];
        return { rows, changed: affected ?? rows.length };
      },
    };
  },
  onEnd(tx, committed, rolledBack) {
    const { queryRunner } = managerOf(tx);
    if (queryRunner) endsOf(dataSourceOf(tx)).add(queryRunner, { committed, rolledBack });
  },
};

const watchers = new WeakMap<DataSource, TransactionEnds>();

function endsOf(dataSource: DataSource): TransactionEnds {
  const known = watchers.get(dataSource);
  if (known) return known;
  const ends = new TransactionEnds();
  watchers.set(dataSource, ends);
  dataSource.subscribers.push(ends);
  return ends;
}

/** A subscriber of TypeORM. Transactions are told apart by their query runner. */
class TransactionEnds {
  readonly #ends = new Map<QueryRunner, End[]>();

  add(queryRunner: QueryRunner, end: End): void {
    this.#ends.set(queryRunner, [...(this.#ends.get(queryRunner) ?? []), end]);
  }

  async afterTransactionCommit({ queryRunner }: TransactionEvent): Promise<void> {
    // The end of a savepoint is reported, too.
    if (queryRunner.isTransactionActive) return;
    for (const { committed } of this.#take(queryRunner)) await committed();
  }

  async afterTransactionRollback({ queryRunner }: TransactionEvent): Promise<void> {
    if (queryRunner.isTransactionActive) return;
    for (const { rolledBack } of this.#take(queryRunner)) await rolledBack();
  }

  #take(queryRunner: QueryRunner): readonly End[] {
    const ends = this.#ends.get(queryRunner) ?? [];
    this.#ends.delete(queryRunner);
    return ends;
  }
}
