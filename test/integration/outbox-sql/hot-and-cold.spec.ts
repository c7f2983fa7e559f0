import {
  DefaultListenerRegistry,
  EventEnvelope,
  type ListenerRegistry,
  Outbox,
  withConnection,
} from '@nest-event-bus/outbox';
import {
  PostgresOutboxStore,
  SqlOutboxSchema,
  SqlTransactionManager,
} from '@nest-event-bus/outbox-sql';
import { eventually } from '@nest-event-bus/testing';
import { uniqueTable } from '../../../libs/outbox-sql/src/stores/contract-database.spec-support.js';
import { describeWithService } from '../support/index.js';
import { openPostgres, type PostgresDatabase } from './support/databases.js';

const EVENTS = 600;
const WRITERS = 4;
/** So short that polls meet events which are being dispatched at commit. */
const INTERVAL_MS = 5;
const LIMIT = { timeoutMs: 120_000 };

describeWithService('PostgreSQL', 'An event that a commit and polls race for', (url) => {
  let database: PostgresDatabase;
  let table: string;
  let calls: Map<string, number>;
  const open: Outbox[] = [];

  beforeEach(async () => {
    database = openPostgres(url, 12);
    table = uniqueTable();
    calls = new Map();
    await withConnection(database.provider, (connection) =>
      new SqlOutboxSchema('postgres', { tableName: table }).migrate(connection),
    );
  }, 120_000);

  afterEach(async () => {
    for (const outbox of open.splice(0)) await outbox.close();
    await database.pool.query(`DROP TABLE IF EXISTS ${table}, ${table}_schema`);
    await database.close();
  }, 120_000);

  const registry = (): ListenerRegistry =>
    new DefaultListenerRegistry().register('CHANGED', {
      onEvent: async ({ eventId }) => {
        calls.set(eventId, (calls.get(eventId) ?? 0) + 1);
        // A publish takes a moment, in which polls find the event.
        await database.pool.query('SELECT 1');
      },
    });

  /** Builds one node of a mode, with transactions of its own. */
  const node = (
    build: (parts: ReturnType<typeof partsOf>) => Outbox,
  ): ((eventId: string) => Promise<unknown>) => {
    const transactions = new SqlTransactionManager(database.provider);
    const outbox = build(partsOf(transactions));
    open.push(outbox);
    return (eventId) => {
      const event = new EventEnvelope({ eventId, eventType: 'CHANGED', payloadJson: '1' });
      return transactions.inTransaction(() => outbox.writer.write(event));
    };
  };

  const partsOf = (transactions: SqlTransactionManager) => ({
    connectionProvider: database.provider,
    txContext: transactions.context,
    outboxStore: new PostgresOutboxStore({ tableName: table }),
    listenerRegistry: registry(),
  });

  async function writeAll(
    write: (eventId: string, index: number) => Promise<unknown>,
  ): Promise<void> {
    const ids = Array.from({ length: EVENTS }, (_, index) => `e${index}`);
    const queue = ids.entries();
    await Promise.all(
      Array.from({ length: WRITERS }, async () => {
        for (const [index, id] of queue) await write(id, index);
      }),
    );
    await eventually(async () => {
      const { rows } = await database.pool.query<{ done: string }>(
        `SELECT count(*) AS done FROM ${table} WHERE status = 1`,
      );
      return Number(rows[0]?.done) === EVENTS;
    }, LIMIT);
  }

  const twice = (): readonly string[] =>
    [...calls].filter(([, count]) => count !== 1).map(([id, count]) => `${id}: ${count}`);

  it('is handled once in the mode singleNode', async () => {
    const write = node((parts) =>
      Outbox.singleNode()
        .connectionProvider(parts.connectionProvider)
        .txContext(parts.txContext)
        .outboxStore(parts.outboxStore)
        .listenerRegistry(parts.listenerRegistry)
        .intervalMs(INTERVAL_MS)
        .build(),
    );
    await writeAll(write);
    expect([calls.size, twice()]).toEqual([EVENTS, []]);
  }, 240_000);

  it('is handled once in the mode multiNode, whose polls leave recent events to the commit', async () => {
    const newNode = () =>
      node((parts) =>
        Outbox.multiNode()
          .connectionProvider(parts.connectionProvider)
          .txContext(parts.txContext)
          .outboxStore(parts.outboxStore)
          .listenerRegistry(parts.listenerRegistry)
          .intervalMs(INTERVAL_MS)
          .skipRecent(60_000)
          .claimLocking(120_000)
          .build(),
      );
    const nodes = [newNode(), newNode()];
    await writeAll((id, index) => nodes[index % 2]?.(id) ?? Promise.resolve());
    expect([calls.size, twice()]).toEqual([EVENTS, []]);
  }, 240_000);

  it('is handled once in the mode leased, by three nodes', async () => {
    const newNode = () =>
      node((parts) =>
        Outbox.leased()
          .options({ ...parts, intervalMs: INTERVAL_MS })
          .build(),
      );
    const nodes = [newNode(), newNode(), newNode()];
    await writeAll((id, index) => nodes[index % 3]?.(id) ?? Promise.resolve());
    expect([calls.size, twice()]).toEqual([EVENTS, []]);
  }, 240_000);
});
