import { percentile } from '../../support/percentile.mjs';

const BACKLOG = 1_000_000;
const KEY_LENGTH = 40_000;
const CLAIMS = 40;
const LIMIT = 500;

/** Claims in front of a large backlog, and in a key of many events. */
export async function backlogBench({ outbox, table }) {
  await outbox.clear();
  await outbox.fill(BACKLOG, { keyOf: 'n % 10000' });
  const backlog = await claims(outbox, CLAIMS);
  table.note(
    'claim and completion of 500 before 1,000,000, p50',
    percentile(backlog, 50),
    'ms',
    '',
  );
  table.note('the same, p99', percentile(backlog, 99), 'ms', '');

  await outbox.clear();
  await outbox.fill(KEY_LENGTH, { keyOf: '7' });
  const startedAt = performance.now();
  const one = await claims(outbox, KEY_LENGTH / LIMIT);
  const seconds = (performance.now() - startedAt) / 1_000;
  table.note('a key of 40,000 events, claimed and completed', KEY_LENGTH / seconds, 'events/s', '');
  table.note('its claims, p99', percentile(one, 99), 'ms', '');

  await outbox.clear();
  await outbox.fill(KEY_LENGTH, { keyOf: '7' });
  await outbox.fill(20_000, { keyOf: 'n', first: KEY_LENGTH + 1 });
  await outbox.pool.query(
    `UPDATE ${outbox.name} SET status = 2, available_at = now() + interval '1 hour' WHERE sequence_no = (SELECT MIN(sequence_no) FROM ${outbox.name})`,
  );
  const behind = await claims(outbox, CLAIMS);
  table.note('a claim behind a waiting key of 40,000, p50', percentile(behind, 50), 'ms', '');
}

/** The times of claims with their completions. Each must be full. */
function claims(outbox, count) {
  return outbox.run(async (connection) => {
    const times = [];
    for (let claim = 0; claim < count; claim++) {
      const startedAt = performance.now();
      const token = `t${claim}`;
      const request = { token, leaseMs: 30_000, limit: LIMIT, order: 'key' };
      const events = await outbox.store.lease(connection, request);
      if (events.length !== LIMIT) throw new Error(`a claim got ${events.length} events`);
      const outcomes = events.map(({ eventId }) => ({ kind: 'done', eventId }));
      await outbox.store.complete(connection, token, outcomes);
      times.push(performance.now() - startedAt);
    }
    return times;
  });
}
