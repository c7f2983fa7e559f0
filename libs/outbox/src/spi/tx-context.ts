import type { SqlConnection } from './sql-connection.js';

export type TxCallback = () => void | Promise<void>;

/** The transaction that the calling code is in. */
export interface TxContext {
  isTransactionActive(): boolean;
  /**
   * Returns the very connection that the business operations of the transaction use. Throws
   * outside a transaction.
   */
  currentConnection(): SqlConnection;
  /**
   * Calls back after the outermost transaction has committed. A COMMIT that fails counts as a
   * rollback. Throws outside a transaction.
   */
  afterCommit(callback: TxCallback): void;
  /** Calls back after a rollback. Throws outside a transaction. */
  afterRollback(callback: TxCallback): void;
}
