import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import type { SqliteDatabase } from './sql-clients.js';
import { sqlIdempotencyStore } from './sql-idempotency-store.js';
import { describeIdempotencyStore } from './store-contract.spec-support.js';

interface NodeSqlite {
  readonly DatabaseSync: new (file: string) => SqliteDatabase & { close(): void };
}

const { getBuiltinModule } = process as { getBuiltinModule?: (name: string) => unknown };
const nodeSqlite = getBuiltinModule?.('node:sqlite') as NodeSqlite | undefined;

if (nodeSqlite)
  describeIdempotencyStore('The store of node:sqlite', async () => {
    const client = new nodeSqlite.DatabaseSync(':memory:');
    const store = sqlIdempotencyStore({ dialect: 'sqlite', client });
    await store.createTable();
    return {
      store,
      monotonic: () => realRuntime.monotonic(),
      elapse: (milliseconds) => sleep(realRuntime, milliseconds),
      end: async () => client.close(),
    };
  });
else
  describe('The store of node:sqlite', () => {
    // oxlint-disable-next-line jest/no-disabled-tests
    it.skip(`is tested on Node.js 24: ${process.version} has no node:sqlite`, () => undefined);
  });
