/**
 * A connection to the database. Only the store knows what it is: the client of a driver, or the
 * transaction object of an ORM. The outbox passes the same object on and never looks into it.
 */
export type SqlConnection = object;

/** A connection for a short use outside the transactions of the application. */
export interface ProvidedConnection {
  readonly connection: SqlConnection;
  /** Returns the connection to its pool. With an error, the pool should discard it. */
  release(error?: Error): void | Promise<void>;
}

/** Provides the dispatcher, the poller and the purge with connections that commit each statement. */
export interface ConnectionProvider {
  getConnection(): Promise<ProvidedConnection>;
}

/** Runs the work on a connection of its own and always releases the connection. */
export async function withConnection<T>(
  provider: ConnectionProvider,
  work: (connection: SqlConnection) => Promise<T>,
): Promise<T> {
  const provided = await provider.getConnection();
  let failure: Error | undefined;
  try {
    return await work(provided.connection);
  } catch (error) {
    failure = error instanceof Error ? error : new Error(String(error));
    throw error;
  } finally {
    await provided.release(failure);
  }
}
