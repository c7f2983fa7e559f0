import { type OutboxLogger, realRuntime, type Runtime, type Timer } from '@nest-event-bus/outbox';
import { createHash } from 'node:crypto';
import { checkedTableName, DEFAULT_TABLE } from '../stores/table-name.js';

/** The part of a `Pool` of pg that is used. */
export interface NotifyingPool {
  query(sql: string, values: unknown[]): Promise<unknown>;
  connect(): Promise<ListeningClient>;
}

/** The part of a `PoolClient` of pg that is used. */
export interface ListeningClient {
  query(sql: string): Promise<unknown>;
  on(event: 'notification' | 'error' | 'end', listener: () => void): unknown;
  release(error?: Error | boolean): void;
}

export interface PostgresWakeOptions {
  readonly pool: NotifyingPool;
  /** The name of the outbox table, which is the name of the channel. Default `outbox_event`. */
  readonly tableName?: string;
  /** At most one notification is sent in this time. Default 20 ms. */
  readonly windowMs?: number;
  readonly logger?: OutboxLogger;
  readonly runtime?: Runtime;
}

/** The longest name that PostgreSQL keeps. */
const MAX_NAME = 63;
const DEFAULT_WINDOW_MS = 20;
const FIRST_RETRY_MS = 200;
const LONGEST_RETRY_MS = 30_000;

/**
 * Tells the other processes that there are new events, with LISTEN and NOTIFY. Notifications are
 * sent on a connection of the pool after the commit, because a NOTIFY within a transaction makes all
 * transactions commit one after the other. A notification may be lost: the poll finds the event.
 */
export class PostgresWake {
  readonly #channel: string;
  readonly #windowMs: number;
  readonly #runtime: Runtime;
  readonly #logger: OutboxLogger;
  #window: Timer | undefined;
  #isWanted = false;
  #client: ListeningClient | undefined;
  #retry: Timer | undefined;
  #isClosed = false;

  constructor(private readonly options: PostgresWakeOptions) {
    this.#channel = channelOf(checkedTableName(options.tableName ?? DEFAULT_TABLE));
    this.#windowMs = options.windowMs ?? DEFAULT_WINDOW_MS;
    this.#runtime = options.runtime ?? realRuntime;
    this.#logger = options.logger ?? console;
  }

  /** Sends a notification now, or at the end of the window if there was one a moment ago. */
  notify(): void {
    if (this.#isClosed) return;
    this.#isWanted = true;
    if (!this.#window) this.#send();
  }

  /**
   * Calls back for notifications of other processes, and after each new connection, because some
   * may have been missed. Rejects if the first connection cannot be made.
   */
  async listen(onWake: () => void): Promise<void> {
    const client = await this.options.pool.connect();
    let isLost = false;
    const lost = (): void => {
      if (isLost || this.#isClosed) return;
      isLost = true;
      if (this.#client === client) this.#client = undefined;
      client.release(true);
      this.#listenAgain(onWake, FIRST_RETRY_MS);
    };
    client.on('error', lost);
    client.on('end', lost);
    client.on('notification', onWake);
    try {
      await client.query(`LISTEN ${this.#channel}`);
    } catch (error) {
      if (isLost) return;
      isLost = true;
      client.release(true);
      throw error;
    }
    if (this.#isClosed) {
      isLost = true;
      client.release(true);
      return;
    }
    this.#client = client;
    onWake();
  }

  /** As `listen`, but never rejects: it tries again until the database answers, or until `close`. */
  start(onWake: () => void): void {
    this.listen(onWake).catch(() => this.#listenAgain(onWake, FIRST_RETRY_MS));
  }

  /** Ends the connection that listens. It is not given back to the pool, because it would go on. */
  close(): Promise<void> {
    this.#isClosed = true;
    this.#window?.cancel();
    this.#retry?.cancel();
    const client = this.#client;
    this.#client = undefined;
    client?.release(true);
    return Promise.resolve();
  }

  #send(): void {
    this.#isWanted = false;
    this.#window = this.#runtime.setTimer(() => this.#endWindow(), this.#windowMs, {
      background: true,
    });
    this.options.pool
      .query('SELECT pg_notify($1, $2)', [this.#channel, ''])
      .catch((error) =>
        this.#logger.warn(
          `The other processes could not be told of new events, so their polls will find them: ${nameOf(error)}`,
        ),
      );
  }

  #endWindow(): void {
    this.#window = undefined;
    if (this.#isWanted && !this.#isClosed) this.#send();
  }

  #listenAgain(onWake: () => void, delayMs: number): void {
    if (this.#isClosed) return;
    this.#logger.warn(
      `There is no connection that listens for new events. Polls find them until there is one, and the next try is in ${delayMs} ms.`,
    );
    this.#retry = this.#runtime.setTimer(
      () => {
        this.listen(onWake).catch(() =>
          this.#listenAgain(onWake, Math.min(delayMs * 2, LONGEST_RETRY_MS)),
        );
      },
      delayMs,
      { background: true },
    );
  }
}

/**
 * LISTEN changes a name to lower case and cuts it off, and pg_notify does neither. So the name of the
 * channel is one that both keep.
 */
function channelOf(table: string): string {
  const name = table.toLowerCase().replace('.', '_');
  if (name.length <= MAX_NAME) return name;
  return `outbox_${createHash('sha256').update(name).digest('hex').slice(0, 32)}`;
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);
