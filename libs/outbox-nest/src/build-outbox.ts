import {
  type ConnectionProvider,
  IllegalArgumentError,
  type ListenerRegistry,
  Outbox,
  type OutboxLogger,
  OutboxPurgeScheduler,
  type OutboxStore,
  type TxContext,
} from '@nest-event-bus/outbox';
import {
  dialectOf,
  OutboxStores,
  PoolConnectionProvider,
  type SqlDialectName,
  SqlInbox,
} from '@nest-event-bus/outbox-sql';
import type { OutboxModuleOptions } from './outbox-options.js';

/** What every mode needs. */
export interface OutboxBasis {
  readonly store: OutboxStore;
  readonly connectionProvider: ConnectionProvider;
  readonly txContext: TxContext;
  readonly registry: ListenerRegistry;
  readonly logger: OutboxLogger;
}

export const storeOf = ({ store, database, storeOptions }: OutboxModuleOptions): OutboxStore =>
  store ?? OutboxStores.detect(database, storeOptions);

export const connectionsOf = (options: OutboxModuleOptions): ConnectionProvider =>
  options.connectionProvider ?? new PoolConnectionProvider(options.database);

/** Builds the outbox of a mode with the options of the module. */
export function buildOutbox(options: OutboxModuleOptions, basis: OutboxBasis): Outbox {
  switch (options.mode ?? 'singleNode') {
    case 'singleNode':
      return hot(Outbox.singleNode(), options, basis).build();
    case 'multiNode': {
      const builder = hot(Outbox.multiNode(), options, basis);
      if (options.claimTimeoutMs !== undefined) builder.claimLocking(options.claimTimeoutMs);
      return builder.build();
    }
    case 'ordered':
      return common(Outbox.ordered(), options, basis).build();
    case 'writerOnly':
      return common(Outbox.writerOnly(), options, basis).build();
    case 'leased':
      return leased(options, basis);
  }
}

/** Returns the purge of old events, and that of old entries of the inbox. */
export function buildPurges(
  { purge, inbox, database }: OutboxModuleOptions,
  { connectionProvider, logger }: OutboxBasis,
): readonly OutboxPurgeScheduler[] {
  const basis = { connectionProvider, logger };
  return [
    ...(purge ? [new OutboxPurgeScheduler({ ...basis, ...purge })] : []),
    ...(inbox
      ? [
          new OutboxPurgeScheduler({
            ...basis,
            name: 'inbox',
            purger: new SqlInbox(inboxDialectOf(database), inbox.tableName),
            retentionMs: inbox.retentionMs,
            intervalSeconds: inbox.purgeIntervalSeconds,
          }),
        ]
      : []),
  ];
}

function inboxDialectOf(database: object): SqlDialectName {
  const dialect = dialectOf(database);
  if (dialect) return dialect;
  throw new IllegalArgumentError(
    'The option inbox needs a database of pg, mysql2, better-sqlite3 or node:sqlite.',
  );
}

type AnyBuilder =
  | ReturnType<typeof Outbox.singleNode>
  | ReturnType<typeof Outbox.multiNode>
  | ReturnType<typeof Outbox.ordered>
  | ReturnType<typeof Outbox.writerOnly>;

function common<B extends AnyBuilder>(
  builder: B,
  options: OutboxModuleOptions,
  basis: OutboxBasis,
): B {
  builder
    .connectionProvider(basis.connectionProvider)
    .txContext(basis.txContext)
    .outboxStore(basis.store)
    .listenerRegistry(basis.registry)
    .logger(basis.logger)
    .interceptors(options.interceptors ?? []);
  const { metrics, intervalMs, batchSize, skipRecentMs, drainTimeoutMs } = options;
  if (metrics) builder.metrics(metrics);
  if (intervalMs !== undefined) builder.intervalMs(intervalMs);
  if (batchSize !== undefined) builder.batchSize(batchSize);
  if (skipRecentMs !== undefined) builder.skipRecent(skipRecentMs);
  if (drainTimeoutMs !== undefined) builder.drainTimeoutMs(drainTimeoutMs);
  return builder;
}

function hot<B extends ReturnType<typeof Outbox.singleNode> | ReturnType<typeof Outbox.multiNode>>(
  builder: B,
  options: OutboxModuleOptions,
  basis: OutboxBasis,
): B {
  const { workerCount, maxAttempts, retryPolicy } = options;
  if (workerCount !== undefined) builder.workerCount(workerCount);
  if (maxAttempts !== undefined) builder.maxAttempts(maxAttempts);
  if (retryPolicy) builder.retryPolicy(retryPolicy);
  return common(builder, options, basis);
}

function leased(options: OutboxModuleOptions, basis: OutboxBasis): Outbox {
  const { metrics, intervalMs, batchSize, drainTimeoutMs, workerCount, maxAttempts, retryPolicy } =
    options;
  const given = {
    metrics,
    intervalMs,
    batchSize,
    drainTimeoutMs,
    workerCount,
    maxAttempts,
    retryPolicy,
  };
  return Outbox.leased()
    .options(Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined)))
    .options({
      ...options.leased,
      connectionProvider: basis.connectionProvider,
      txContext: basis.txContext,
      outboxStore: basis.store as NonNullable<typeof options.leased>['outboxStore'],
      listenerRegistry: basis.registry,
      logger: basis.logger,
    })
    .interceptor(...(options.interceptors ?? []))
    .build();
}
