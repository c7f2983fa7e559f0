import { knexSession, onKnexEnd } from './knex.js';
import { hasFunctions, type TransactionAdapter } from './transaction-adapter.js';

interface EntityManager {
  isInTransaction(): boolean;
  getTransactionContext(): object;
  transactional<T>(work: (tx: object) => Promise<T>): Promise<T>;
  fork(): EntityManager;
}

const entityManagerOf = (handle: object): EntityManager => handle as EntityManager;

export const mikroOrm: TransactionAdapter = {
  name: 'MikroORM',
  matches: (handle) => hasFunctions(handle, 'transactional', 'getTransactionContext'),
  isInTransaction: (handle) => entityManagerOf(handle).isInTransaction(),
  transaction: (database, work) => entityManagerOf(database).fork().transactional(work),
  connectionOf: (tx) => knexSession(entityManagerOf(tx).getTransactionContext()),
  onEnd: (tx, committed, rolledBack) =>
    onKnexEnd(entityManagerOf(tx).getTransactionContext(), committed, rolledBack),
};
