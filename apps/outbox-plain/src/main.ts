import {
  DefaultListenerRegistry,
  type EventEnvelope,
  Outbox,
  withConnection,
} from '@nest-event-bus/outbox';
import {
  openSqlDatabase,
  OutboxStores,
  SqlOutboxSchema,
  SqlTemplate,
  SqlTransactionManager,
} from '@nest-event-bus/outbox-sql';
import { setTimeout as pause } from 'node:timers/promises';
import { crashAt, settings } from './settings.js';
import { Shop } from './shop.js';

const { pool, provider, dialect, close } = await openSqlDatabase(`sqlite:${settings.file}`);
const transactions = new SqlTransactionManager(provider);
const sql = new SqlTemplate(dialect, 'orders');
await withConnection(provider, async (connection) => {
  await new SqlOutboxSchema(dialect).migrate(connection);
  await sql.update(
    connection,
    'CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, customer TEXT NOT NULL)',
  );
});

/** The delivery of an event. An application would send a mail or a record here. */
function deliver({ eventId, payloadJson }: EventEnvelope): void {
  const { id, customer } = JSON.parse(payloadJson ?? '') as { id: number; customer: string };
  crashAt('before-delivery');
  console.log(`delivered order ${id} of ${customer} (event ${eventId})`);
  crashAt('after-delivery');
}

const outbox = Outbox.singleNode()
  .connectionProvider(provider)
  .txContext(transactions.context)
  .outboxStore(OutboxStores.detect(pool))
  .listenerRegistry(new DefaultListenerRegistry().register('ORDER', 'PLACED', { onEvent: deliver }))
  .intervalMs(200)
  .build();

const shop = new Shop(transactions, outbox.writer);
for (let order = 0; order < settings.orders; order++) await shop.place('Ada');
await shop.place('nobody').catch((error: Error) => console.log(`refused: ${error.message}`));

const count = async (question: string): Promise<number> => {
  const rows = await withConnection(provider, (connection) => sql.query(connection, question));
  return Number(rows[0]?.['count']);
};
while ((await count('SELECT COUNT(*) AS count FROM outbox_event WHERE status <> 1')) > 0)
  await pause(50);
console.log(`${await count('SELECT COUNT(*) AS count FROM orders')} orders are in the database`);
await outbox.close();
await close();
