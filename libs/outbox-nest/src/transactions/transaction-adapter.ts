import type { SqlConnection, TxCallback } from '@nest-event-bus/outbox';

/** Knows the transactions of one ORM or driver. */
export interface TransactionAdapter {
  readonly name: string;
  /** Says whether the handle, a database or a transaction, belongs to this ORM or driver. */
  matches(handle: object): boolean;
  /** Says whether the handle is in a transaction. */
  isInTransaction(handle: object): boolean;
  /** Begins a transaction, commits when the work has ended and rolls back when it throws. */
  transaction<T>(database: object, work: (tx: object) => Promise<T>): Promise<T>;
  /** Returns the connection that the operations of the transaction use. */
  connectionOf(tx: object): SqlConnection;
  /** Calls back when the transaction has ended. Left out if the ORM does not tell. */
  onEnd?(tx: object, committed: TxCallback, rolledBack: TxCallback): void;
}

export type Loose = Readonly<Record<string, unknown>>;

export const hasFunctions = (handle: object, ...names: readonly string[]): boolean =>
  names.every((name) => typeof (handle as Loose)[name] === 'function');
