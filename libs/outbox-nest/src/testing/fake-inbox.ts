import { Inbox, type InboxResult } from '../inbox/inbox.js';
import type { FakeTransactions } from './fake-transactions.js';
import type { TransactionOf } from '../transactions/transaction-of.js';

type Message = Parameters<Inbox['claim']>[1];

/** Remembers messages in memory, and forgets those of transactions that were rolled back. */
export class FakeInbox extends Inbox {
  readonly #handled = new Set<string>();

  constructor(private readonly fakeTransactions: FakeTransactions) {
    super(fakeTransactions, {});
  }

  override handle<Db extends object, T>(
    database: Db,
    message: Message,
    work: (tx: TransactionOf<Db>) => Promise<T>,
  ): Promise<InboxResult<T>> {
    return this.fakeTransactions.transaction(database, async (tx): Promise<InboxResult<T>> => {
      if (!(await this.claim(tx as object, message))) return { kind: 'duplicate' };
      return { kind: 'handled', result: await work(tx) };
    });
  }

  override claim(_tx: object, { consumer, messageId }: Message): Promise<boolean> {
    const key = JSON.stringify([consumer, messageId]);
    if (this.#handled.has(key)) return Promise.resolve(false);
    this.#handled.add(key);
    const { context } = this.fakeTransactions;
    // Nothing tells the end of a transaction that the application has begun itself.
    if (context.isTransactionActive()) context.afterRollback(() => void this.#handled.delete(key));
    return Promise.resolve(true);
  }

  forget(): void {
    this.#handled.clear();
  }
}
