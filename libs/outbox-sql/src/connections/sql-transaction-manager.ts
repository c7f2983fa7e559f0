import {
  type ConnectionProvider,
  IllegalStateError,
  type SqlConnection,
} from '@nest-event-bus/outbox';
import { AsyncLocalStorageTxContext, type TxScope } from './async-local-storage-tx-context.js';
import { sessionOf } from './session-of.js';
import type { SqlSession } from './sql-session.js';

const BEGIN = { postgres: 'BEGIN', mysql: 'START TRANSACTION', sqlite: 'BEGIN IMMEDIATE' };

type Work<T> = (connection: SqlConnection) => Promise<T>;

/** Runs functions in transactions of plain drivers. */
export class SqlTransactionManager {
  #savepoints = 0;

  constructor(
    private readonly provider: ConnectionProvider,
    readonly context: AsyncLocalStorageTxContext = new AsyncLocalStorageTxContext(),
  ) {}

  /**
   * Commits if the function returns, and rolls back if it throws. Within a transaction it uses a
   * savepoint. Callbacks run after the outermost commit, when the connection is back in its pool. A
   * COMMIT that fails counts as a rollback.
   */
  async inTransaction<T>(work: Work<T>): Promise<T> {
    const outer = this.context.scope;
    if (outer) return this.#inSavepoint(outer, work);
    const { connection, release } = await this.provider.getConnection();
    const scope = scopeOf(connection, null);
    let broken: Error | undefined;
    let isCommitted = false;
    try {
      const result = await this.#committed(scope, work);
      isCommitted = true;
      return result;
    } catch (error) {
      broken = await rollBack(connection);
      throw error;
    } finally {
      await release(broken);
      if (isCommitted) await this.context.committed(scope);
      else await this.context.rolledBack(scope);
    }
  }

  async #committed<T>(scope: TxScope, work: Work<T>): Promise<T> {
    const session = sessionOf(scope.connection);
    await session.run(BEGIN[session.dialect], []);
    const result = await this.context.run(scope, () => work(scope.connection));
    const { command } = await session.run('COMMIT', []);
    // PostgreSQL answers so, and without an error, after a statement that failed.
    if (command === 'ROLLBACK')
      throw new IllegalStateError(
        'The transaction was rolled back, because one of its statements failed. Do not catch the errors of statements, or use a savepoint for them.',
      );
    return result;
  }

  async #inSavepoint<T>(outer: TxScope, work: Work<T>): Promise<T> {
    const scope = scopeOf(outer.connection, outer);
    const session = sessionOf(outer.connection);
    const name = `outbox_${++this.#savepoints}`;
    await session.run(`SAVEPOINT ${name}`, []);
    try {
      const result = await this.context.run(scope, () => work(outer.connection));
      await session.run(`RELEASE SAVEPOINT ${name}`, []);
      await this.context.committed(scope);
      return result;
    } catch (error) {
      await this.#rollBackTo(session, name);
      await this.context.rolledBack(scope);
      throw error;
    }
  }

  async #rollBackTo(session: SqlSession, savepoint: string): Promise<void> {
    await session.run(`ROLLBACK TO SAVEPOINT ${savepoint}`, []);
    await session.run(`RELEASE SAVEPOINT ${savepoint}`, []);
  }
}

const scopeOf = (connection: SqlConnection, outer: TxScope | null): TxScope => ({
  connection,
  outer,
  afterCommit: [],
  afterRollback: [],
  isOpen: true,
});

/** Returns the error of a connection that cannot even roll back. Its pool must discard it. */
async function rollBack(connection: SqlConnection): Promise<Error | undefined> {
  try {
    await sessionOf(connection).run('ROLLBACK', []);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error));
  }
}
