import {
  type SqlConnection,
  TransactionRequiredError,
  type TxCallback,
  type TxContext,
} from '@nest-event-bus/outbox';
import type { TransactionAdapter } from './transaction-adapter.js';

const nothing = (): void => undefined;

/** The context of a transaction that the application has begun with its ORM. */
export class HandleTxContext implements TxContext {
  constructor(
    private readonly adapter: TransactionAdapter,
    private readonly tx: object,
  ) {}

  isTransactionActive(): boolean {
    return this.adapter.isInTransaction(this.tx);
  }

  currentConnection(): SqlConnection {
    if (!this.isTransactionActive())
      throw new TransactionRequiredError(`The handle of ${this.adapter.name}`);
    return this.adapter.connectionOf(this.tx);
  }

  /** Without a hook of the ORM, nothing calls back, and a poll finds the events. */
  afterCommit(callback: TxCallback): void {
    this.adapter.onEnd?.(this.tx, callback, nothing);
  }

  afterRollback(callback: TxCallback): void {
    this.adapter.onEnd?.(this.tx, nothing, callback);
  }
}
