import type { TxCallback } from '@nest-event-bus/outbox';
import { dialectOf, type SqlSession } from '@nest-event-bus/outbox-sql';
import { withQuestionMarks } from './placeholders.js';
import { resultOf } from './result-of.js';
import { hasFunctions, type TransactionAdapter } from './transaction-adapter.js';

interface KnexHandle {
  readonly isTransaction?: boolean;
  readonly client: { readonly dialect: string };
  readonly executionPromise: Promise<unknown>;
  isCompleted(): boolean;
  rollback: (...reasons: unknown[]) => unknown;
  raw(sql: string, values: readonly unknown[]): Promise<unknown>;
  transaction<T>(work: (tx: object) => Promise<T>): Promise<T>;
}

const knexOf = (handle: object): KnexHandle => handle as KnexHandle;

export const knex: TransactionAdapter = {
  name: 'Knex',
  matches: (handle) => hasFunctions(handle, 'raw', 'transaction') && 'client' in handle,
  isInTransaction: (handle) =>
    knexOf(handle).isTransaction === true && !knexOf(handle).isCompleted(),
  transaction: (database, work) => knexOf(database).transaction(work),
  connectionOf: (tx) => knexSession(tx),
  onEnd: (tx, committed, rolledBack) => onKnexEnd(tx, committed, rolledBack),
};

/** The promise of a transaction may resolve after a rollback, too, so calls of `rollback` are noted. */
export function onKnexEnd(tx: object, committed: TxCallback, rolledBack: TxCallback): void {
  const transaction = knexOf(tx);
  const rollback = transaction.rollback.bind(transaction);
  let isRolledBack = false;
  transaction.rollback = (...reasons) => {
    isRolledBack = true;
    return rollback(...reasons);
  };
  void transaction.executionPromise.then(
    () => (isRolledBack ? rolledBack() : committed()),
    rolledBack,
  );
}

/** Runs statements in a transaction of Knex. MikroORM's transactions are such ones. */
export function knexSession(tx: object): SqlSession {
  const { client } = knexOf(tx);
  return {
    dialect: dialectOf({ dialect: client.dialect }) ?? 'postgres',
    async run(sql, values) {
      const statement = withQuestionMarks(sql, values);
      return resultOf(await knexOf(tx).raw(statement.sql, statement.values));
    },
  };
}
