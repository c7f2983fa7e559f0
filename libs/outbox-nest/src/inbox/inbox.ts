import { IllegalStateError, type SqlConnection } from '@nest-event-bus/outbox';
import { dialectOf, type InboxMessage, SqlInbox } from '@nest-event-bus/outbox-sql';
import type { OutboxTransactions } from '../transactions/outbox-transactions.js';
import type { TransactionOf } from '../transactions/transaction-of.js';

export interface InboxOptions {
  /** The table of the inbox. Default `outbox_inbox`. */
  readonly tableName?: string;
  /**
   * Messages are remembered for this time. A message that is delivered again later is handled
   * again. Default 7 days.
   */
  readonly retentionMs?: number;
  /** Seconds between two purges of old entries. Default 3600. */
  readonly purgeIntervalSeconds?: number;
}

export type InboxResult<T> =
  | { readonly kind: 'handled'; readonly result: T }
  /** The message was handled before, so the work was not called. */
  | { readonly kind: 'duplicate' };

/**
 * Handles each message once: what a handler writes, the events that it writes into the outbox, and
 * the entry of the message in the inbox are one transaction.
 */
export class Inbox {
  readonly #inboxes = new Map<string, SqlInbox>();

  constructor(
    private readonly transactions: OutboxTransactions,
    private readonly options: InboxOptions | undefined,
  ) {}

  /**
   * Begins a transaction of the database, and calls the work in it unless the message was handled.
   * If the work throws, nothing is written, and the message can be handled again.
   */
  handle<Db extends object, T>(
    database: Db,
    message: InboxMessage,
    work: (tx: TransactionOf<Db>) => Promise<T>,
  ): Promise<InboxResult<T>> {
    return this.transactions.transaction(database, async (tx): Promise<InboxResult<T>> => {
      const connection = this.transactions.context.currentConnection();
      if (!(await this.#claim(connection, message))) return { kind: 'duplicate' };
      return { kind: 'handled', result: await work(tx) };
    });
  }

  /**
   * Claims a message in a transaction that the application has begun itself. Returns false if it
   * was handled before: write nothing then.
   */
  async claim(tx: object, message: InboxMessage): Promise<boolean> {
    return this.#claim(this.transactions.connectionFor(tx), message);
  }

  #claim(connection: SqlConnection, message: InboxMessage): Promise<boolean> {
    if (!this.options)
      throw new IllegalStateError(
        'The inbox is not set up. Set the option inbox of OutboxModule, so that its old entries are purged: inbox: {}.',
      );
    const dialect = dialectOf(connection) ?? 'postgres';
    const known = this.#inboxes.get(dialect);
    const inbox = known ?? new SqlInbox(dialect, this.options.tableName);
    this.#inboxes.set(dialect, inbox);
    return inbox.claim(connection, message);
  }
}
