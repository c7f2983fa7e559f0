import { AsyncLocalStorage } from 'node:async_hooks';
import {
  IllegalStateError,
  type OutboxLogger,
  type SqlConnection,
  TransactionRequiredError,
  type TxCallback,
  type TxContext,
} from '@nest-event-bus/outbox';

/** What a transaction has registered so far. A savepoint has a scope of its own. */
export interface TxScope {
  readonly connection: SqlConnection;
  readonly outer: TxScope | null;
  readonly afterCommit: TxCallback[];
  readonly afterRollback: TxCallback[];
  isOpen: boolean;
}

/**
 * Knows the transaction of the calling code from the chain of its asynchronous calls, so concurrent
 * requests never see the transactions of each other. `SqlTransactionManager` opens transactions in
 * it.
 */
export class AsyncLocalStorageTxContext implements TxContext {
  readonly #scopes = new AsyncLocalStorage<TxScope>();

  constructor(private readonly logger: OutboxLogger = console) {}

  get scope(): TxScope | null {
    const scope = this.#scopes.getStore();
    return scope?.isOpen ? scope : null;
  }

  isTransactionActive(): boolean {
    return this.scope !== null;
  }

  currentConnection(): SqlConnection {
    return this.#required().connection;
  }

  afterCommit(callback: TxCallback): void {
    this.#required().afterCommit.push(callback);
  }

  afterRollback(callback: TxCallback): void {
    this.#required().afterRollback.push(callback);
  }

  run<T>(scope: TxScope, work: () => Promise<T>): Promise<T> {
    return this.#scopes.run(scope, work);
  }

  /** A committed savepoint leaves its callbacks to the transaction around it. */
  async committed(scope: TxScope): Promise<void> {
    scope.isOpen = false;
    if (scope.outer) {
      scope.outer.afterCommit.push(...scope.afterCommit);
      scope.outer.afterRollback.push(...scope.afterRollback);
    } else {
      await this.#call(scope.afterCommit);
    }
  }

  async rolledBack(scope: TxScope): Promise<void> {
    scope.isOpen = false;
    await this.#call(scope.afterRollback);
  }

  #required(): TxScope {
    const scope = this.#scopes.getStore();
    if (!scope) throw new TransactionRequiredError();
    if (!scope.isOpen)
      throw new IllegalStateError(
        'The transaction has ended. Await all work of a transaction before its function returns.',
      );
    return scope;
  }

  /** The transaction has ended, so a callback that fails is logged and changes nothing. */
  async #call(callbacks: readonly TxCallback[]): Promise<void> {
    for (const callback of callbacks) {
      try {
        await this.#scopes.exit(callback);
      } catch (error) {
        this.logger.error(
          `A callback after the end of a transaction failed, which changes nothing of it: ${error instanceof Error ? error.name : typeof error}`,
        );
      }
    }
  }
}
