import type {
  AggregateType,
  ConnectionProvider,
  EventInterceptor,
  EventPurger,
  EventType,
  LeasedOutboxOptions,
  MetricsExporter,
  OutboxEventListener,
  OutboxStore,
  RetryPolicy,
} from '@nest-event-bus/outbox';
import type { SqlOutboxStoreOptions, SqlPool } from '@nest-event-bus/outbox-sql';
import type { OutboxCommand } from './admin/command-log.js';
import type { OutboxHealthOptions } from './health/outbox-health.js';
import type { InboxOptions } from './inbox/inbox.js';
import type {
  InjectionToken,
  ModuleMetadata,
  OptionalFactoryDependency,
  Type,
} from '@nestjs/common';

export type OutboxMode = 'singleNode' | 'multiNode' | 'ordered' | 'writerOnly' | 'leased';

/** A listener that is an object, for example one of `toBinding`. */
export interface OutboxRoute {
  /** Default: events without an aggregate type. */
  readonly aggregate?: AggregateType | string;
  readonly event: EventType | string;
  readonly listener: OutboxEventListener | RouteListenerFactory;
}

/** Creates a listener from providers of the application. */
export type RouteListenerFactory = (get: <T>(token: Type<T>) => T) => OutboxEventListener;

export interface OutboxPurgeOptions {
  readonly purger: EventPurger;
  /** Default 7 days. */
  readonly retentionMs?: number;
  /** Default 500. */
  readonly batchSize?: number;
  /** Default 3600. */
  readonly intervalSeconds?: number;
}

export interface OutboxWakeOptions {
  /** At most one notification is sent in this time. Default 20 ms. */
  readonly windowMs?: number;
}

export interface OutboxModuleOptions {
  /** Default `singleNode`. */
  readonly mode?: OutboxMode;
  /**
   * The pool of pg or mysql2, or the database of SQLite, that the dispatcher uses. Its kind decides
   * the store.
   */
  readonly database: SqlPool;
  /** Options of the store that is made for the database. */
  readonly storeOptions?: SqlOutboxStoreOptions;
  /** A store of your own. */
  readonly store?: OutboxStore;
  /** Connections of your own. */
  readonly connectionProvider?: ConnectionProvider;
  /** Listeners beside those with `@OutboxListener`. */
  readonly routes?: readonly OutboxRoute[];
  /** Required with `multiNode`: after this time another process may claim the events. */
  readonly claimTimeoutMs?: number;
  readonly metrics?: MetricsExporter;
  /**
   * Returns headers for each event that is written, such as those of the current trace. A header
   * that the event has already stays as it is.
   */
  readonly headers?: () => Readonly<Record<string, string>>;
  readonly interceptors?: readonly EventInterceptor[];
  readonly intervalMs?: number;
  readonly batchSize?: number;
  readonly skipRecentMs?: number;
  readonly drainTimeoutMs?: number;
  readonly workerCount?: number;
  readonly maxAttempts?: number;
  readonly retryPolicy?: RetryPolicy;
  /** More options of the mode `leased`. */
  readonly leased?: LeasedOutboxOptions;
  /**
   * PostgreSQL only: tells the other processes of new events after each commit, with NOTIFY on a
   * connection of its own, so that they need not wait for their polls. Takes one more connection of
   * the pool. Default false.
   */
  readonly wake?: boolean | OutboxWakeOptions;
  /** When the outbox is degraded. */
  readonly health?: OutboxHealthOptions;
  /** Sets up the inbox, whose old entries are purged. Without it, the inbox refuses to work. */
  readonly inbox?: InboxOptions;
  /** Is told of every command that an operator gives, for an audit beside the log. */
  readonly onCommand?: (command: OutboxCommand) => void;
  /** Deletes old events. Use a purger by age only with `writerOnly`. */
  readonly purge?: OutboxPurgeOptions;
}

export interface OutboxModuleExtras {
  /** Default true. */
  readonly isGlobal?: boolean;
}

export interface OutboxModuleAsyncOptions
  extends Pick<ModuleMetadata, 'imports'>, OutboxModuleExtras {
  readonly inject?: (InjectionToken | OptionalFactoryDependency)[];
  readonly useFactory: (
    ...dependencies: never[]
  ) => OutboxModuleOptions | Promise<OutboxModuleOptions>;
}

export const OUTBOX_OPTIONS = Symbol('OUTBOX_OPTIONS');
