import { randomUUID } from 'node:crypto';

const LEASE_MS = 30_000;

/** Publishes all events. Several loops lease, publish a batch, and complete it. */
export async function relayInBatches({ outbox, producer, topic, count, loops = 3, limit = 1_000 }) {
  let published = 0;
  await Promise.all(
    Array.from({ length: loops }, () =>
      outbox.run(async (connection) => {
        // A claim is empty while other claims hold all keys.
        while (published < count) {
          const relayed = await relayOnce({ outbox, connection, producer, topic, limit });
          published += relayed;
        }
      }),
    ),
  );
  return published;
}

/** One claim, from the lease to its completion. Returns the number of events. */
export async function relayOnce({ outbox, connection, producer, topic, limit }) {
  const token = randomUUID();
  const request = { token, leaseMs: LEASE_MS, limit, order: 'key' };
  const events = await outbox.store.lease(connection, request);
  if (events.length === 0) return 0;
  await producer.send(events.map((event) => recordOf(event, topic)));
  await outbox.store.complete(
    connection,
    token,
    events.map(({ eventId }) => ({ kind: 'done', eventId })),
  );
  return events.length;
}

/**
 * The design that is compared: claims a batch, then one send and one DELETE per event, with ten
 * events in flight. A worker takes the next event when its own is deleted.
 */
export async function relayOneByOne({ outbox, producer, topic, inFlight = 10, limit = 100 }) {
  let published = 0;
  for (;;) {
    const token = randomUUID();
    const events = await claim(outbox, token, limit);
    if (events.length === 0) return published;
    const iterator = events.values();
    await Promise.all(
      Array.from({ length: inFlight }, async () => {
        for (const event of iterator) {
          await producer.send([recordOf(event, topic)]);
          await outbox.pool.query(
            `DELETE FROM ${outbox.name} WHERE event_id = $1 AND locked_by = $2`,
            [event.eventId, token],
          );
          published++;
        }
      }),
    );
  }
}

async function claim(outbox, token, limit) {
  const { rows } = await outbox.pool.query(
    `UPDATE ${outbox.name} SET locked_by = $1, locked_at = now() WHERE event_id = ANY (ARRAY (SELECT event_id FROM ${outbox.name} WHERE status % 2 = 0 AND locked_by IS NULL ORDER BY sequence_no LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING event_id, aggregate_id, payload, headers`,
    [token, limit],
  );
  return rows.map((row) => ({
    eventId: row.event_id,
    aggregateId: row.aggregate_id,
    payload: row.payload,
  }));
}

export const recordOf = ({ eventId, aggregateId, payload }, topic) => ({
  topic,
  key: aggregateId,
  value: payload,
  headers: [{ key: 'message-id', value: eventId }],
});
