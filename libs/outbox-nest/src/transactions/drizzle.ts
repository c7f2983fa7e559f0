import { plainDriver } from './plain-driver.js';
import { hasFunctions, type TransactionAdapter } from './transaction-adapter.js';

interface DrizzleHandle {
  readonly resultKind?: 'sync' | 'async';
  readonly $client: object;
  readonly session: { readonly client: object };
  transaction<T>(work: (tx: object) => Promise<T>): Promise<T>;
}

const drizzleOf = (handle: object): DrizzleHandle => handle as DrizzleHandle;

/** Drizzle's own transactions of SQLite allow no await, so they are begun on the driver. */
const isSynchronous = (handle: object): boolean => drizzleOf(handle).resultKind === 'sync';

export const drizzle: TransactionAdapter = {
  name: 'Drizzle',
  matches: (handle) => hasFunctions(handle, 'transaction', 'select') && 'session' in handle,
  isInTransaction: (handle) =>
    isSynchronous(handle)
      ? plainDriver.isInTransaction(drizzleOf(handle).session.client)
      : hasFunctions(handle, 'rollback'),
  transaction: (database, work) =>
    isSynchronous(database)
      ? plainDriver.transaction(drizzleOf(database).$client, () => work(database))
      : drizzleOf(database).transaction(work),
  connectionOf: (tx) => drizzleOf(tx).session.client,
};
