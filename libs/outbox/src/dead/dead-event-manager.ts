import { errorName } from '../errors/describe-error.js';
import type { OutboxEvent } from '../model/outbox-event.js';
import { realRuntime } from '../runtime/real-runtime.js';
import type { Runtime } from '../runtime/runtime.js';
import { consoleLogger, logSevere, type OutboxLogger } from '../spi/logger.js';
import type { OutboxStore } from '../spi/outbox-store.js';
import {
  type ConnectionProvider,
  type SqlConnection,
  withConnection,
} from '../spi/sql-connection.js';

const DEFAULT_LIMIT = 100;

export interface DeadEventFilter {
  readonly eventType?: string;
  readonly aggregateType?: string;
}

/** Lists DEAD events and brings them back. Its methods log errors of the database and never reject. */
export class DeadEventManager {
  readonly #logger: OutboxLogger;
  readonly #runtime: Runtime;

  constructor(
    private readonly connectionProvider: ConnectionProvider,
    private readonly store: OutboxStore,
    { logger, runtime }: { readonly logger?: OutboxLogger; readonly runtime?: Runtime } = {},
  ) {
    this.#logger = logger ?? consoleLogger;
    this.#runtime = runtime ?? realRuntime;
  }

  /** Returns the oldest first; nothing after an error. */
  query(filter: DeadEventFilter = {}, limit = DEFAULT_LIMIT): Promise<readonly OutboxEvent[]> {
    return this.#safely('query', [], (connection) =>
      this.store.queryDead(connection, { ...filter, limit }),
    );
  }

  /** Makes a DEAD event NEW. Returns false if it is not DEAD, and after an error. */
  async replay(eventId: string): Promise<boolean> {
    return (await this.#replay(eventId)) === true;
  }

  /**
   * Replays all events that are DEAD now, in batches. An event that dies again meanwhile is not
   * replayed twice. Returns the number of replayed events; after an error, the number so far.
   */
  async replayAll(filter: DeadEventFilter = {}, batchSize = DEFAULT_LIMIT): Promise<number> {
    const seen = new Set<string>();
    let total = 0;
    let limit = batchSize;
    for (;;) {
      const batch = await this.query(filter, limit);
      const fresh = batch.filter(({ eventId }) => !seen.has(eventId));
      for (const { eventId } of fresh) {
        seen.add(eventId);
        const replayed = await this.#replay(eventId);
        if (replayed === undefined) return total;
        if (replayed) total++;
      }
      if (batch.length < limit) return total;
      // Events that died again stay in front of the others.
      limit = batchSize + batch.length - fresh.length;
    }
  }

  /** Returns 0 after an error. */
  count(eventType?: string): Promise<number> {
    return this.#safely('count', 0, (connection) => this.store.countDead(connection, eventType));
  }

  /** Returns undefined after an error. */
  #replay(eventId: string): Promise<boolean | undefined> {
    return this.#safely<boolean | undefined>('replay', undefined, async (connection) => {
      return (await this.store.replayDead(connection, eventId, this.#runtime.now())) > 0;
    });
  }

  async #safely<T>(
    operation: string,
    fallback: T,
    work: (connection: SqlConnection) => Promise<T>,
  ): Promise<T> {
    try {
      return await withConnection(this.connectionProvider, work);
    } catch (error) {
      logSevere(
        this.#logger,
        `SEVERE: ${operation} of DEAD events failed: ${errorName(error)}. Look at the database, then repeat the call.`,
      );
      return fallback;
    }
  }
}
