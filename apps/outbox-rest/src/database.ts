import { withConnection } from '@nest-event-bus/outbox';
import { openSqlDatabase, SqlOutboxSchema, SqlTemplate } from '@nest-event-bus/outbox-sql';

/** The PostgreSQL or MySQL that DATABASE_URL names, or a SQLite file in the current folder. */
export const database = await openSqlDatabase(
  process.env['DATABASE_URL'] ?? 'sqlite:outbox-rest.db',
);

/** Runs statements on the tables of the shop, in the transaction of the caller. */
export const sql = new SqlTemplate(database.dialect, 'shop_orders');

await withConnection(database.provider, async (connection) => {
  await new SqlOutboxSchema(database.dialect).migrate(connection);
  await sql.update(
    connection,
    'CREATE TABLE IF NOT EXISTS shop_orders (id VARCHAR(36) PRIMARY KEY, article VARCHAR(100) NOT NULL, state VARCHAR(20) NOT NULL)',
  );
});
