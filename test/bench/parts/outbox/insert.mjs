import { EventEnvelope } from '@nest-event-bus/outbox';
import { percentile } from '../../support/percentile.mjs';

const ROUNDS = 1_000;

/** What the insert of an event adds to a transaction of the application. */
export async function insertBench({ outbox, table }) {
  await outbox.clear();
  const orders = `${outbox.name}_orders`;
  await outbox.pool.query(`CREATE TABLE ${orders} (id bigserial PRIMARY KEY, text text)`);
  const client = await outbox.pool.connect();
  let queries = 0;
  const { query } = client;
  client.query = (...args) => {
    queries++;
    return query.apply(client, args);
  };
  const transaction = async (events) => {
    const startedAt = performance.now();
    await client.query('BEGIN');
    await client.query(`INSERT INTO ${orders} (text) VALUES ($1)`, ['x'.repeat(200)]);
    if (events) await outbox.store.insertAll(client, newEvents(events), { lockKeys: true });
    await client.query('COMMIT');
    return performance.now() - startedAt;
  };
  const times = { 0: [], 1: [], 10: [] };
  for (let round = 0; round < ROUNDS; round++)
    for (const events of [0, 1, 10]) times[events].push(await transaction(events));
  queries = 0;
  await transaction(10);
  const added = queries - 3;
  delete client.query;
  client.release();
  await outbox.pool.query(`DROP TABLE ${orders}`);
  const base = percentile(times[0], 50);
  table.note('transaction without an event, p50', base, 'ms', '');
  table.note('one event adds, p50', percentile(times[1], 50) - base, 'ms', '');
  table.note('ten events add, p50', percentile(times[10], 50) - base, 'ms', '');
  table.note('round trips that ten events add', added, '', '<= 1');
}

const newEvents = (count) =>
  Array.from({ length: count }, (_, index) =>
    EventEnvelope.builder('OrderCreated')
      .aggregateType('ORDER')
      .aggregateId(String(index))
      .payloadJson(`{"text":"${'x'.repeat(180)}"}`)
      .build(),
  );
