import { percentile } from '../../support/percentile.mjs';

const POLLS = 500;

/** The cost of a poll that finds nothing, beside a table of finished events. */
export async function idleBench({ outbox, table }) {
  await outbox.clear();
  await outbox.fill(200_000, { status: 1 });
  const times = [];
  const before = process.cpuUsage();
  await outbox.run(async (connection) => {
    for (let poll = 0; poll < POLLS; poll++) {
      const startedAt = performance.now();
      const request = { token: `t${poll}`, leaseMs: 30_000, limit: 500, order: 'key' };
      await outbox.store.lease(connection, request);
      times.push(performance.now() - startedAt);
    }
  });
  const { user, system } = process.cpuUsage(before);
  table.note('a poll that finds nothing, p50', percentile(times, 50), 'ms', '');
  table.note('its processor time in the process', (user + system) / 1_000 / POLLS, 'ms', '');
}
