import type { SqlConnection } from '@nest-event-bus/outbox';
import {
  AsyncLocalStorageTxContext,
  PoolConnectionProvider,
  type SqlPool,
  SqlTransactionManager,
} from '@nest-event-bus/outbox-sql';
import { hasFunctions, type Loose, type TransactionAdapter } from './transaction-adapter.js';

/** Pools and clients of pg, pools of mysql2, and databases of better-sqlite3 and node:sqlite. */
export const plainDriver: TransactionAdapter = {
  name: 'a pool or a connection of a driver',
  matches: (handle) =>
    hasFunctions(handle, 'prepare', 'exec') ||
    hasFunctions(handle, 'query', 'connect') ||
    hasFunctions(handle, 'query', 'getConnection') ||
    hasFunctions(handle, 'query', 'beginTransaction'),
  isInTransaction(handle) {
    const { inTransaction, isTransaction } = handle as Loose;
    if (hasFunctions(handle, 'getTransactionStatus'))
      return (handle as { getTransactionStatus(): string | null }).getTransactionStatus() === 'T';
    return inTransaction === true || isTransaction === true;
  },
  transaction: (database, work) =>
    // A context of its own, so that the manager never takes another transaction for an outer one.
    new SqlTransactionManager(
      new PoolConnectionProvider(database as SqlPool),
      new AsyncLocalStorageTxContext(),
    ).inTransaction(work),
  connectionOf: (tx): SqlConnection => tx,
};
