import assert from 'node:assert/strict';
import { EventEnvelope, type EventEnvelopeInput } from '../model/event-envelope.js';
import type { EventStatus } from '../model/event-status.js';
import type { ClaimedEvent, OutboxEvent } from '../model/outbox-event.js';
import type { EventOutcome, LeasedOutboxStore, LeaseRequest } from '../spi/leased-outbox-store.js';
import type { OutboxStore } from '../spi/outbox-store.js';
import { type SqlConnection, withConnection } from '../spi/sql-connection.js';
import type { StoreContractDatabase } from './fixture.js';

/** The time that fixed test events have: 2026-01-01T00:00:00Z. */
export const START = 1_767_225_600_000;

/** A database of one test case, with short forms of what most cases do. */
export class StoreCase {
  constructor(readonly database: StoreContractDatabase) {}

  get store(): OutboxStore {
    return this.database.store;
  }

  get leasedStore(): LeasedOutboxStore {
    return this.database.store as LeasedOutboxStore;
  }

  event(id: string, input: Partial<EventEnvelopeInput> = {}): EventEnvelope {
    const payload =
      input.payloadBytes || input.payloadBinary ? {} : { payloadJson: `{"id":"${id}"}` };
    return new EventEnvelope({
      eventId: id,
      eventType: 'CREATED',
      occurredAt: START,
      ...payload,
      ...input,
    });
  }

  /** Inserts events with these ids of one key, or of none, in committed transactions of their own. */
  async insert(...events: readonly (string | EventEnvelope)[]): Promise<void> {
    for (const event of events) {
      const transaction = await this.database.begin();
      const envelope = typeof event === 'string' ? this.event(event) : event;
      await this.store.insertNew(transaction.connection, envelope);
      await transaction.commit();
    }
  }

  keyed(id: string, key = 'a'): EventEnvelope {
    return this.event(id, { aggregateType: 'ORDER', aggregateId: key });
  }

  on<T>(work: (connection: SqlConnection) => Promise<T>): Promise<T> {
    return withConnection(this.database.provider, work);
  }

  async row(eventId: string): Promise<OutboxEvent> {
    const row = (await this.database.readAll()).find((each) => each.eventId === eventId);
    assert.ok(row, `The table has no event ${eventId}.`);
    return row;
  }

  async hasStatus(eventId: string, status: EventStatus): Promise<void> {
    assert.equal((await this.row(eventId)).status, status);
  }

  lease(
    token: string,
    { leaseMs = 60_000, limit = 100, order = 'none' }: Partial<LeaseRequest> = {},
  ): Promise<readonly ClaimedEvent[]> {
    return this.on((connection) =>
      this.leasedStore.lease(connection, { token, leaseMs, limit, order }),
    );
  }

  async leaseIds(token: string, request: Partial<LeaseRequest> = {}): Promise<readonly string[]> {
    return (await this.lease(token, request)).map(({ eventId }) => eventId);
  }

  complete(token: string, ...outcomes: readonly EventOutcome[]): Promise<readonly string[]> {
    return this.on((connection) => this.leasedStore.complete(connection, token, outcomes));
  }

  poll(now = START, { skipRecentMs = 0, limit = 100 } = {}): Promise<readonly string[]> {
    return this.on(async (connection) =>
      (await this.store.pollPending(connection, now, skipRecentMs, limit)).map(
        ({ eventId }) => eventId,
      ),
    );
  }
}

export type DefineCase = (name: string, run: (test: StoreCase) => Promise<void>) => void;
