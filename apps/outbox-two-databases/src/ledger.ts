import {
  DefaultListenerRegistry,
  type EventEnvelope,
  Outbox,
  type SqlConnection,
  withConnection,
} from '@nest-event-bus/outbox';
import { PrometheusMetricsExporter } from '@nest-event-bus/outbox-nest';
import {
  openSqlDatabase,
  OutboxStores,
  SqlOutboxSchema,
  SqlTemplate,
  SqlTransactionManager,
} from '@nest-event-bus/outbox-sql';
import * as promClient from 'prom-client';

type Listener = (event: EventEnvelope) => Promise<void>;

/** A SQLite database with one table of its own, and an outbox of its own. */
export class Ledger {
  /** Opens the file, and creates the table and that of the outbox. */
  static async open(name: string, file: string, registry: promClient.Registry): Promise<Ledger> {
    const database = await openSqlDatabase(`sqlite:${file}`);
    await withConnection(database.provider, async (connection) => {
      await new SqlOutboxSchema('sqlite').migrate(connection);
      await new SqlTemplate('sqlite', name).update(
        connection,
        `CREATE TABLE IF NOT EXISTS ${name} (id TEXT PRIMARY KEY, state TEXT NOT NULL)`,
      );
    });
    return new Ledger(name, database, registry);
  }

  readonly outbox: Outbox;
  readonly #listeners = new DefaultListenerRegistry();
  readonly #transactions: SqlTransactionManager;
  readonly #sql: SqlTemplate;

  private constructor(
    readonly name: string,
    private readonly database: Awaited<ReturnType<typeof openSqlDatabase>>,
    registry: promClient.Registry,
  ) {
    this.#sql = new SqlTemplate('sqlite', name);
    this.#transactions = new SqlTransactionManager(database.provider);
    this.outbox = Outbox.singleNode()
      .connectionProvider(database.provider)
      .txContext(this.#transactions.context)
      .outboxStore(OutboxStores.detect(database.pool))
      .listenerRegistry(this.#listeners)
      .metrics(new PrometheusMetricsExporter(promClient, registry, `outbox.${name}`))
      .intervalMs(200)
      .build();
  }

  on(event: string, onEvent: Listener): void {
    this.#listeners.register(this.name, event, { onEvent });
  }

  /** Sets the state of a row. Returns false if the row had it before. */
  async set(connection: SqlConnection, id: string, state: string): Promise<boolean> {
    const changed = await this.#sql.update(
      connection,
      `INSERT INTO ${this.name} (id, state) VALUES (:id, :state) ON CONFLICT (id) DO UPDATE SET state = excluded.state WHERE state <> excluded.state`,
      { id, state },
    );
    return changed > 0;
  }

  inTransaction<T>(work: (connection: SqlConnection) => Promise<T>): Promise<T> {
    return this.#transactions.inTransaction(work);
  }

  rows(): Promise<readonly unknown[]> {
    return withConnection(this.database.provider, (connection) =>
      this.#sql.query(connection, `SELECT id, state FROM ${this.name} ORDER BY id`),
    );
  }

  async close(): Promise<void> {
    await this.outbox.close();
    await this.database.close();
  }
}
