import { UnsupportedStoreOperationError } from '../errors/unsupported-store-operation-error.js';
import type { EventEnvelope } from '../model/event-envelope.js';
import type { OutboxEvent } from '../model/outbox-event.js';
import type { DeadEventQuery, InsertOptions, OutboxStore } from './outbox-store.js';
import type { OutboxInspection } from './outbox-inspection.js';
import type { SqlConnection } from './sql-connection.js';

/** The defaults of the operations that a store of your own need not have. */
export abstract class AbstractOutboxStore implements OutboxStore {
  abstract readonly name: string;
  readonly inspection?: OutboxInspection;

  abstract insertNew(connection: SqlConnection, event: EventEnvelope): Promise<void>;
  abstract markDone(connection: SqlConnection, eventId: string): Promise<number>;
  abstract markRetry(
    connection: SqlConnection,
    eventId: string,
    nextAt: number,
    error: string,
  ): Promise<number>;
  abstract markDead(connection: SqlConnection, eventId: string, error: string): Promise<number>;
  abstract pollPending(
    connection: SqlConnection,
    now: number,
    skipRecentMs: number,
    limit: number,
  ): Promise<readonly OutboxEvent[]>;

  async insertAll(
    connection: SqlConnection,
    events: readonly EventEnvelope[],
    options: InsertOptions = {},
  ): Promise<void> {
    if (options.lockKeys) throw this.#unsupported('insertAll with lockKeys');
    for (const event of events) await this.insertNew(connection, event);
  }

  /** Without a claim of its own, a store polls. Only one node may poll it then. */
  claimPending(
    connection: SqlConnection,
    _ownerId: string,
    now: number,
    _lockExpiry: number,
    skipRecentMs: number,
    limit: number,
  ): Promise<readonly OutboxEvent[]> {
    return this.pollPending(connection, now, skipRecentMs, limit);
  }

  queryDead(_connection: SqlConnection, _query: DeadEventQuery): Promise<readonly OutboxEvent[]> {
    return Promise.reject(this.#unsupported('queryDead'));
  }

  replayDead(_connection: SqlConnection, _eventId: string, _now: number): Promise<number> {
    return Promise.reject(this.#unsupported('replayDead'));
  }

  countDead(_connection: SqlConnection, _eventType?: string): Promise<number> {
    return Promise.reject(this.#unsupported('countDead'));
  }

  #unsupported(operation: string): UnsupportedStoreOperationError {
    return new UnsupportedStoreOperationError(this.name, operation);
  }
}
