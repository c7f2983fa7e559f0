import { AsyncLocalStorage } from 'node:async_hooks';
import { TransactionRequiredError } from '../errors/transaction-required-error.js';
import type { SqlConnection } from '../spi/sql-connection.js';
import type { TxCallback, TxContext } from '../spi/tx-context.js';
import type { MemoryDatabase, MemoryTransaction } from './memory-database.js';

interface Scope {
  readonly transaction: MemoryTransaction;
  readonly afterCommit: TxCallback[];
  readonly afterRollback: TxCallback[];
}

/** Transactions of a MemoryDatabase. Each chain of calls sees only its own transaction. */
export class MemoryTxContext implements TxContext {
  readonly #scopes = new AsyncLocalStorage<Scope>();

  constructor(private readonly database: MemoryDatabase) {}

  /** Commits when the work has ended, and rolls back when it throws. */
  async inTransaction<T>(work: () => Promise<T>): Promise<T> {
    const transaction = this.database.begin();
    const scope: Scope = { transaction, afterCommit: [], afterRollback: [] };
    let result: T;
    try {
      result = await this.#scopes.run(scope, work);
      transaction.commit();
    } catch (error) {
      transaction.rollback();
      for (const callback of scope.afterRollback) await callback();
      throw error;
    }
    for (const callback of scope.afterCommit) await callback();
    return result;
  }

  isTransactionActive(): boolean {
    return this.#scopes.getStore() !== undefined;
  }

  currentConnection(): SqlConnection {
    return this.#scope().transaction;
  }

  afterCommit(callback: TxCallback): void {
    this.#scope().afterCommit.push(callback);
  }

  afterRollback(callback: TxCallback): void {
    this.#scope().afterRollback.push(callback);
  }

  #scope(): Scope {
    const scope = this.#scopes.getStore();
    if (!scope) throw new TransactionRequiredError();
    return scope;
  }
}
