import { realRuntime } from '@nest-event-bus/broker/runtime';
import { PostgresWake } from '@nest-event-bus/outbox-sql';
import { eventually } from '@nest-event-bus/testing';
import { Pool } from 'pg';
import { uniqueTable } from '../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';
import { describeWithService } from '../support/index.js';

const LIMIT = { timeoutMs: 60_000 };

describeWithService('PostgreSQL', 'PostgresWake', (url) => {
  const pools: Pool[] = [];
  const wakes: PostgresWake[] = [];
  const quiet = { log: () => undefined, warn: () => undefined, error: () => undefined };

  afterEach(async () => {
    await Promise.all(wakes.splice(0).map((wake) => wake.close()));
    await Promise.all(pools.splice(0).map((pool) => pool.end()));
  });

  function newWake(tableName: string, windowMs = 20): { wake: PostgresWake; pool: Pool } {
    const pool = new Pool({ connectionString: url, max: 3 });
    pool.on('error', () => undefined);
    const wake = new PostgresWake({ pool, tableName, windowMs, logger: quiet });
    pools.push(pool);
    wakes.push(wake);
    return { wake, pool };
  }

  it('wakes the other processes', async () => {
    const table = uniqueTable();
    let woken = 0;
    await newWake(table).wake.listen(() => woken++);
    expect(woken).toBe(1);
    newWake(table).wake.notify();
    await eventually(() => woken === 2, LIMIT);
  });

  it('sends one notification for many calls in its window, and one for the last of them', async () => {
    const table = uniqueTable();
    let woken = 0;
    await newWake(table).wake.listen(() => woken++);
    const { wake, pool } = newWake(table, 300);
    const query = jest.spyOn(pool, 'query');
    for (let call = 0; call < 1_000; call++) wake.notify();
    await eventually(() => woken === 3, LIMIT);
    expect(query).toHaveBeenCalledTimes(2);
  });

  it('listens again after its connection was lost, and wakes then', async () => {
    const table = uniqueTable();
    let woken = 0;
    const { wake, pool } = newWake(table);
    await wake.listen(() => woken++);
    const { rows } = await pool.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE query = 'LISTEN ' || $1",
      [table],
    );
    await pool.query('SELECT pg_terminate_backend($1)', [rows[0]?.pid]);
    await eventually(() => woken === 2, LIMIT);
    newWake(table).wake.notify();
    await eventually(() => woken === 3, LIMIT);
  });

  it('sends and hears nothing after close', async () => {
    const { wake, pool } = newWake(uniqueTable());
    await wake.listen(() => undefined);
    const query = jest.spyOn(pool, 'query');
    await wake.close();
    wake.notify();
    await new Promise<void>((resolve) => realRuntime.defer(resolve));
    expect(query).not.toHaveBeenCalled();
  });
});
