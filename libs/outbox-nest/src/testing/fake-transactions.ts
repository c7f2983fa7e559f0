import type { OutboxWriter, SqlConnection, TxCallback, TxContext } from '@nest-event-bus/outbox';
import { OutboxTransactions } from '../transactions/outbox-transactions.js';
import type { TransactionOf } from '../transactions/transaction-of.js';

/** Transactions of nothing: any object can be the database, and is the transaction, too. */
export class FakeTransactions extends OutboxTransactions {
  readonly failures: Error[] = [];

  override async transaction<Db extends object, T>(
    database: Db,
    work: (tx: TransactionOf<Db>) => Promise<T>,
  ): Promise<T> {
    const { context } = this;
    const outer = context.scope;
    const scope = { connection: database, outer, afterCommit: [], afterRollback: [], isOpen: true };
    let result: T;
    try {
      result = await context.run(scope, () => work(database as unknown as TransactionOf<Db>));
      const failure = outer ? undefined : this.failures.shift();
      if (failure) throw failure;
    } catch (error) {
      await context.rolledBack(scope);
      throw error;
    }
    await context.committed(scope);
    return result;
  }

  /** Nothing tells the end of a transaction that the application has begun itself. */
  override writerFor(tx: object): OutboxWriter {
    return this.writer.withContext(new CommittedTxContext(tx));
  }

  override connectionFor(tx: object): SqlConnection {
    return tx;
  }
}

/** Takes a transaction for committed as soon as an event is written in it. */
class CommittedTxContext implements TxContext {
  constructor(private readonly tx: object) {}

  isTransactionActive(): boolean {
    return true;
  }

  currentConnection(): SqlConnection {
    return this.tx;
  }

  afterCommit(callback: TxCallback): void {
    void callback();
  }

  afterRollback(): void {
    return undefined;
  }
}
