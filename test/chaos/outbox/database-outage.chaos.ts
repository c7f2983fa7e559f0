import { realRuntime, sleep } from '@nest-event-bus/broker/runtime';
import {
  DefaultListenerRegistry,
  EventEnvelope,
  Outbox,
  type OutboxLogger,
  withConnection,
} from '@nest-event-bus/outbox';
import {
  OutboxStoreException,
  openSqlDatabase,
  type OpenedSqlDatabase,
  PostgresOutboxStore,
  SqlOutboxSchema,
  SqlTransactionManager,
} from '@nest-event-bus/outbox-sql';
import { eventually } from '@nest-event-bus/testing';
import { describeMissing } from '../../integration/support/describe-with-kafka.js';
import { OwnPostgres } from '../../integration/support/own-postgres.js';
import { sizeOf } from '../core/chaos-run.js';

/** The variable CHAOS_DOWN_MS chooses another time without a database. */
const downMs = sizeOf('DOWN_MS', { full: 60_000, smoke: 2_000 });
const EVENTS = 50;
const DRAIN_MS = 2_000;
const LIMIT = { timeoutMs: 120_000 };
const NAME = `An outbox whose database is gone for ${downMs} ms`;

if (OwnPostgres.findPrograms() === undefined)
  describeMissing(NAME, 'there is no PostgreSQL that could be started and stopped');
else describe(NAME, outageCases);

function outageCases(): void {
  let postgres: OwnPostgres;
  let database: OpenedSqlDatabase;
  let transactions: SqlTransactionManager;
  let outbox: Outbox;
  let lines: string[];
  let seen: string[];

  beforeEach(async () => {
    postgres = await OwnPostgres.start();
    database = await openSqlDatabase(postgres.url);
    transactions = new SqlTransactionManager(database.provider);
    await withConnection(database.provider, (connection) =>
      new SqlOutboxSchema('postgres').migrate(connection),
    );
    [lines, seen] = [[], []];
  }, 300_000);

  afterEach(async () => {
    await outbox.close();
    await database.close();
    await postgres.end();
  }, 300_000);

  const logger: OutboxLogger = {
    log: (line) => void lines.push(line),
    warn: (line) => void lines.push(line),
    error: (line) => void lines.push(line),
  };

  const registry = new DefaultListenerRegistry().register('CHANGED', {
    onEvent: async ({ eventId }) => {
      await sleep(realRuntime, 5);
      seen.push(eventId);
    },
  });

  const start = {
    leased: (): Outbox =>
      Outbox.leased()
        .options({
          ...parts(),
          intervalMs: 500,
          leaseMs: 3_000,
          drainTimeoutMs: DRAIN_MS,
        })
        .build(),
    multiNode: (): Outbox =>
      Outbox.multiNode()
        .connectionProvider(database.provider)
        .txContext(transactions.context)
        .outboxStore(new PostgresOutboxStore())
        .listenerRegistry(registry)
        .logger(logger)
        .intervalMs(500)
        .claimLocking(3_000)
        .drainTimeoutMs(DRAIN_MS)
        .build(),
  };

  const parts = () => ({
    connectionProvider: database.provider,
    txContext: transactions.context,
    outboxStore: new PostgresOutboxStore(),
    listenerRegistry: registry,
    logger,
  });

  const write = (eventId: string): Promise<unknown> =>
    transactions.inTransaction(() =>
      outbox.writer.write(new EventEnvelope({ eventId, eventType: 'CHANGED', payloadJson: '1' })),
    );

  /** True when the outbox has met the outage. */
  const hasFailed = (): boolean =>
    /OUTBOX_STORE_FAILED\).*The next (one|try) starts/.test(lines.join('\n'));

  const ids = (name: string): readonly string[] =>
    Array.from({ length: EVENTS }, (_, index) => `${name}${index}`);

  it.each(['leased', 'multiNode'] as const)(
    'refuses writes with a typed error, and goes on by itself in the mode %s',
    async (mode) => {
      outbox = start[mode]();
      for (const id of ids('before')) await write(id);
      await postgres.crash();
      const error = await write('during').then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(OutboxStoreException);
      expect(error).toMatchObject({ code: 'OUTBOX_STORE_FAILED', retriable: true });
      await sleep(realRuntime, downMs);
      await eventually(hasFailed, LIMIT);
      await postgres.restart();
      await eventually(async () => {
        await write('after').catch(() => undefined);
        return seen.includes('after');
      }, LIMIT);
      await eventually(() => ids('before').every((id) => seen.includes(id)), LIMIT);
      expect(seen).not.toContain('during');
    },
    600_000,
  );

  it('closes within its time while the database is gone, and loses nothing', async () => {
    outbox = start.leased();
    for (const id of ids('before')) await write(id);
    await postgres.crash();
    await eventually(hasFailed, LIMIT);
    const startedAt = realRuntime.monotonic();
    await outbox.close();
    // The limit is generous for a busy machine. Without one, the close would wait for the database.
    expect(realRuntime.monotonic() - startedAt).toBeLessThan(DRAIN_MS + 20_000);
    await postgres.restart();
    outbox = start.leased();
    await eventually(() => ids('before').every((id) => seen.includes(id)), LIMIT);
  }, 600_000);
}
