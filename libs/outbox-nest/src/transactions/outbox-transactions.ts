import {
  IllegalStateError,
  type OutboxWriter,
  type SqlConnection,
  TransactionRequiredError,
} from '@nest-event-bus/outbox';
import { AsyncLocalStorageTxContext, dialectOf, SqlTemplate } from '@nest-event-bus/outbox-sql';
import { adapterOf } from './adapters.js';
import { HandleTxContext } from './handle-tx-context.js';
import type { TransactionAdapter } from './transaction-adapter.js';
import type { TransactionOf } from './transaction-of.js';

type Scope = Parameters<AsyncLocalStorageTxContext['run']>[0];

/** The database and the transaction of an open scope, as the application knows them. */
interface Handles {
  readonly database: object;
  readonly tx: object;
}

/** Runs work in transactions of the application's ORM or driver, with the outbox in them. */
export class OutboxTransactions {
  readonly #handles = new WeakMap<Scope, Handles>();
  #savepoints = 0;
  #writer: () => OutboxWriter | undefined = () => undefined;

  constructor(readonly context: AsyncLocalStorageTxContext = new AsyncLocalStorageTxContext()) {}

  /** Sets the source of the writer that `writerFor` binds to transactions. */
  useWriter(writer: () => OutboxWriter): void {
    this.#writer = writer;
  }

  /**
   * Begins a transaction of the database, and commits when the work has ended. Events that an
   * OutboxWriter writes during the work are part of it. Within a transaction of the same database it
   * uses a savepoint.
   */
  async transaction<Db extends object, T>(
    database: Db,
    work: (tx: TransactionOf<Db>) => Promise<T>,
  ): Promise<T> {
    const adapter = adapterOf(database);
    const outer = this.context.scope;
    const handles = outer && this.#handles.get(outer);
    const run = work as (tx: object) => Promise<T>;
    if (outer && handles && (handles.database === database || handles.tx === database))
      return this.#inSavepoint(outer, handles, run);
    if (adapter.isInTransaction(database))
      throw new IllegalStateError(
        `The handle of ${adapter.name} is in a transaction that was begun elsewhere. Write its events with writerFor(handle).`,
      );
    return this.#inTransaction(adapter, database, run);
  }

  /**
   * Returns a writer for a transaction that the application has begun itself. Throws if the handle
   * is not in a transaction. TypeORM, MikroORM and Knex tell their commit, so that events are
   * dispatched at once; with the others, a poll finds them.
   */
  writerFor(tx: object): OutboxWriter {
    return this.writer.withContext(new HandleTxContext(openAdapterOf(tx), tx));
  }

  protected get writer(): OutboxWriter {
    const writer = this.#writer();
    if (writer) return writer;
    throw new IllegalStateError('No writer is set. Call useWriter() first.');
  }

  /** Returns the connection of a transaction that the application has begun itself. */
  connectionFor(tx: object): SqlConnection {
    return openAdapterOf(tx).connectionOf(tx);
  }

  async #inTransaction<T>(
    adapter: TransactionAdapter,
    database: object,
    work: (tx: object) => Promise<T>,
  ): Promise<T> {
    let scope: Scope | undefined;
    let result: T;
    try {
      result = await adapter.transaction(database, (tx) => {
        scope = this.#open(adapter.connectionOf(tx), null, { database, tx });
        return this.context.run(scope, () => work(tx));
      });
    } catch (error) {
      if (scope) await this.context.rolledBack(scope);
      throw error;
    }
    if (scope) await this.context.committed(scope);
    return result;
  }

  async #inSavepoint<T>(
    outer: Scope,
    handles: Handles,
    work: (tx: object) => Promise<T>,
  ): Promise<T> {
    const scope = this.#open(outer.connection, outer, handles);
    const name = `outbox_nested_${++this.#savepoints}`;
    const template = new SqlTemplate(dialectOf(outer.connection) ?? 'postgres', 'outbox');
    const statement = (sql: string): Promise<unknown> => template.update(outer.connection, sql);
    await statement(`SAVEPOINT ${name}`);
    try {
      const result = await this.context.run(scope, () => work(handles.tx));
      await statement(`RELEASE SAVEPOINT ${name}`);
      await this.context.committed(scope);
      return result;
    } catch (error) {
      await statement(`ROLLBACK TO SAVEPOINT ${name}`);
      await this.context.rolledBack(scope);
      throw error;
    }
  }

  #open(connection: object, outer: Scope | null, handles: Handles): Scope {
    const scope: Scope = {
      connection,
      outer,
      afterCommit: [],
      afterRollback: [],
      isOpen: true,
    };
    this.#handles.set(scope, handles);
    return scope;
  }
}

/** Throws if the handle is not in a transaction. */
function openAdapterOf(tx: object): TransactionAdapter {
  const adapter = adapterOf(tx);
  if (adapter.isInTransaction(tx)) return adapter;
  throw new TransactionRequiredError(`The handle of ${adapter.name}`);
}
