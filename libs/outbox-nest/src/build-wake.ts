import { IllegalArgumentError, type OutboxLogger, type OutboxStore } from '@nest-event-bus/outbox';
import { type NotifyingPool, PostgresWake } from '@nest-event-bus/outbox-sql';
import type { OutboxModuleOptions } from './outbox-options.js';

/** Returns what tells other processes of new events, if the options ask for it. */
export function buildWake(
  { wake, database }: OutboxModuleOptions,
  store: OutboxStore,
  logger: OutboxLogger,
): PostgresWake | undefined {
  if (!wake) return undefined;
  if (!isPostgresPool(database))
    throw new IllegalArgumentError(
      'The option wake needs a pool of pg as database, because only PostgreSQL notifies other processes. Leave wake out, or shorten intervalMs.',
    );
  const { windowMs } = wake === true ? {} : wake;
  const tableName = 'table' in store && typeof store.table === 'string' ? store.table : undefined;
  return new PostgresWake({ pool: database, tableName, windowMs, logger });
}

const isPostgresPool = (database: object): database is NotifyingPool =>
  'connect' in database && 'query' in database && !('getConnection' in database);
