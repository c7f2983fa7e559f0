import { IllegalArgumentError } from '../errors/argument-errors.js';
import type { EventEnvelope } from '../model/event-envelope.js';
import { EventStatus } from '../model/event-status.js';
import type { ClaimedEvent, OutboxEvent } from '../model/outbox-event.js';
import type { Runtime } from '../runtime/runtime.js';
import { realRuntime } from '../runtime/real-runtime.js';
import type {
  BlockedKey,
  EventOutcome,
  LeasedOutboxStore,
  LeaseRequest,
} from '../spi/leased-outbox-store.js';
import type { OutboxInspection } from '../spi/outbox-inspection.js';
import type { DeadEventQuery, InsertOptions } from '../spi/outbox-store.js';
import type { SqlConnection } from '../spi/sql-connection.js';
import { JsonCodec } from '../util/json-codec.js';
import { MemoryConnection, type MemoryDatabase } from './memory-database.js';
import { MemoryInspection } from './memory-inspection.js';
import type { MemoryRow } from './memory-row.js';
import { selectForLease } from './select-for-lease.js';

const MAX_ERROR_LENGTH = 4_000;

/** Keeps events in the memory of the process: for tests. Nothing survives the process. */
export class MemoryOutboxStore implements LeasedOutboxStore {
  readonly name = 'MemoryOutboxStore';
  readonly inspection: OutboxInspection;

  constructor(
    private readonly database: MemoryDatabase,
    private readonly clock: Pick<Runtime, 'now'> = realRuntime,
    private readonly codec: JsonCodec = JsonCodec.getDefault(),
  ) {
    this.inspection = new MemoryInspection(database, clock);
  }

  insertNew(connection: SqlConnection, event: EventEnvelope): Promise<void> {
    return this.insertAll(connection, [event]);
  }

  async insertAll(
    connection: SqlConnection,
    events: readonly EventEnvelope[],
    { lockKeys = false }: InsertOptions = {},
  ): Promise<void> {
    const own = memoryConnection(connection);
    if (lockKeys)
      await own.lock(events.flatMap(({ orderKey }) => (orderKey === null ? [] : [orderKey])));
    own.insert(events.map((event) => this.#newRow(event)));
  }

  markDone(_connection: SqlConnection, eventId: string): Promise<number> {
    return this.#change(eventId, isNotDone, (row) => this.#setDone(row));
  }

  markRetry(
    _connection: SqlConnection,
    eventId: string,
    nextAt: number,
    error: string,
  ): Promise<number> {
    return this.#change(eventId, isNotDone, (row) => setRetry(row, nextAt, error));
  }

  markDead(_connection: SqlConnection, eventId: string, error: string): Promise<number> {
    return this.#change(eventId, isNotDone, (row) => setDead(row, error));
  }

  pollPending(
    _connection: SqlConnection,
    now: number,
    skipRecentMs: number,
    limit: number,
  ): Promise<readonly OutboxEvent[]> {
    return Promise.resolve(this.#pending(now, skipRecentMs).slice(0, limit).map(copy));
  }

  claimPending(
    _connection: SqlConnection,
    ownerId: string,
    now: number,
    lockExpiry: number,
    skipRecentMs: number,
    limit: number,
  ): Promise<readonly OutboxEvent[]> {
    const free = this.#pending(now, skipRecentMs).filter(
      ({ lockedAt }) => lockedAt === null || lockedAt < lockExpiry,
    );
    const claimed = free.slice(0, limit);
    for (const row of claimed) {
      row.lockedBy = ownerId;
      row.lockedAt = now;
    }
    return Promise.resolve(claimed.map(copy));
  }

  queryDead(_connection: SqlConnection, query: DeadEventQuery): Promise<readonly OutboxEvent[]> {
    const { eventType, aggregateType, limit } = query;
    const found = this.#sorted(
      (row) =>
        row.status === EventStatus.DEAD &&
        (eventType === undefined || row.eventType === eventType) &&
        (aggregateType === undefined || row.aggregateType === aggregateType),
    );
    return Promise.resolve(found.slice(0, limit).map(copy));
  }

  replayDead(_connection: SqlConnection, eventId: string, now: number): Promise<number> {
    return this.#change(eventId, isDead, (row) => setNew(row, now));
  }

  async countDead(connection: SqlConnection, eventType?: string): Promise<number> {
    return (await this.queryDead(connection, { eventType, limit: Infinity })).length;
  }

  lease(_connection: SqlConnection, request: LeaseRequest): Promise<readonly ClaimedEvent[]> {
    const now = this.clock.now();
    const rows = [...this.database.rows.values()].sort((a, b) => a.sequence - b.sequence);
    const leased = selectForLease(rows, request, now);
    const before = leased.map(({ unfinishedAttempts }) => unfinishedAttempts);
    for (const row of leased) {
      setLease(row, request.token, now, request.leaseMs);
      row.unfinishedAttempts = Math.max(1, row.unfinishedAttempts);
    }
    return Promise.resolve(
      leased.map((row, index) => ({ ...copy(row), unfinishedAttempts: before[index] ?? 0 })),
    );
  }

  markStarted(_connection: SqlConnection, token: string, eventId: string): Promise<number> {
    return this.#change(eventId, heldBy(token), (row) => void row.unfinishedAttempts++);
  }

  renew(_connection: SqlConnection, token: string, leaseMs: number): Promise<number> {
    const isHeld = heldBy(token);
    const held = [...this.database.rows.values()].filter(
      (row) => isHeld(row) && (row.lockedUntil ?? 0) > this.clock.now(),
    );
    for (const row of held) setLease(row, token, this.clock.now(), leaseMs);
    return Promise.resolve(held.length);
  }

  complete(
    _connection: SqlConnection,
    token: string,
    outcomes: readonly EventOutcome[],
  ): Promise<readonly string[]> {
    const changed = outcomes.filter((outcome) => {
      const row = this.database.rows.get(outcome.eventId);
      if (!row || !heldBy(token)(row)) return false;
      this.#end(row, outcome);
      return true;
    });
    return Promise.resolve(changed.map(({ eventId }) => eventId));
  }

  blockedKeys(_connection: SqlConnection, limit: number): Promise<readonly BlockedKey[]> {
    const blocking = this.#sorted((row) => row.blocksKey).sort((a, b) => a.sequence - b.sequence);
    const first = new Map<string, MemoryRow>();
    for (const row of blocking)
      if (row.orderKey !== null && !first.has(row.orderKey)) first.set(row.orderKey, row);
    return Promise.resolve(
      [...first].slice(0, limit).map(([key, { eventId, lastError }]) => ({
        key,
        eventId,
        lastError,
        waiting: this.#sorted((row) => row.orderKey === key && isPending(row)).length,
      })),
    );
  }

  unblockKey(_connection: SqlConnection, key: string): Promise<number> {
    return this.#changeBlocking(key, (row) => setNew(row, this.clock.now()));
  }

  skipKey(_connection: SqlConnection, key: string): Promise<number> {
    return this.#changeBlocking(key, (row) => void (row.blocksKey = false));
  }

  #changeBlocking(key: string, change: (row: MemoryRow) => void): Promise<number> {
    const blocking = this.#sorted((row) => row.orderKey === key && row.blocksKey);
    blocking.forEach(change);
    return Promise.resolve(blocking.length);
  }

  #end(row: MemoryRow, outcome: EventOutcome): void {
    const now = this.clock.now();
    switch (outcome.kind) {
      case 'done':
        this.#setDone(row);
        break;
      case 'retry':
        setRetry(row, now + outcome.delayMs, outcome.error);
        break;
      case 'dead':
        setDead(row, outcome.error);
        row.blocksKey = outcome.blocksKey && row.orderKey !== null;
        break;
      case 'released':
        row.availableAt = Math.max(row.availableAt, now + outcome.delayMs);
        break;
    }
    row.unfinishedAttempts = outcome.kind === 'released' ? outcome.unfinishedAttempts : 0;
    clearLock(row);
  }

  #setDone(row: MemoryRow): void {
    row.status = EventStatus.DONE;
    row.doneAt = this.clock.now();
    clearLock(row);
  }

  #pending(now: number, skipRecentMs: number): MemoryRow[] {
    return this.#sorted(
      (row) => isPending(row) && row.availableAt <= now && row.createdAt <= now - skipRecentMs,
    );
  }

  #sorted(condition: (row: MemoryRow) => boolean): MemoryRow[] {
    return [...this.database.rows.values()]
      .filter(condition)
      .sort((a, b) => a.createdAt - b.createdAt || (a.eventId < b.eventId ? -1 : 1));
  }

  #change(
    eventId: string,
    condition: (row: MemoryRow) => boolean,
    change: (row: MemoryRow) => void,
  ): Promise<number> {
    const row = this.database.rows.get(eventId);
    if (!row || !condition(row)) return Promise.resolve(0);
    change(row);
    return Promise.resolve(1);
  }

  #newRow(event: EventEnvelope): MemoryRow {
    return {
      eventId: event.eventId,
      eventType: event.eventType,
      aggregateType: event.aggregateType,
      aggregateId: event.aggregateId,
      tenantId: event.tenantId,
      payload: event.payloadJson ?? event.payloadBytes,
      headersJson: this.codec.toJson(event.headers),
      status: EventStatus.NEW,
      attempts: 0,
      availableAt: event.occurredAt,
      createdAt: event.occurredAt,
      doneAt: null,
      lastError: null,
      lockedBy: null,
      lockedAt: null,
      sequence: this.database.nextSequence(),
      unfinishedAttempts: 0,
      orderKey: event.orderKey,
      lockedUntil: null,
      blocksKey: false,
    };
  }
}

function memoryConnection(connection: SqlConnection): MemoryConnection {
  if (connection instanceof MemoryConnection) return connection;
  throw new IllegalArgumentError(
    'MemoryOutboxStore works only with connections of its MemoryDatabase.',
  );
}

const isPending = ({ status }: MemoryRow): boolean =>
  status === EventStatus.NEW || status === EventStatus.RETRY;
const isNotDone = ({ status }: MemoryRow): boolean => status !== EventStatus.DONE;
const isDead = ({ status }: MemoryRow): boolean => status === EventStatus.DEAD;
const heldBy =
  (token: string) =>
  (row: MemoryRow): boolean =>
    isPending(row) && row.lockedBy === token;

function setRetry(row: MemoryRow, nextAt: number, error: string): void {
  row.status = EventStatus.RETRY;
  row.attempts++;
  row.availableAt = nextAt;
  row.lastError = error.slice(0, MAX_ERROR_LENGTH);
  clearLock(row);
}

function setDead(row: MemoryRow, error: string): void {
  row.status = EventStatus.DEAD;
  row.lastError = error.slice(0, MAX_ERROR_LENGTH);
  clearLock(row);
}

function setNew(row: MemoryRow, now: number): void {
  row.status = EventStatus.NEW;
  row.attempts = 0;
  row.unfinishedAttempts = 0;
  row.availableAt = now;
  row.lastError = null;
  row.blocksKey = false;
  clearLock(row);
}

function setLease(row: MemoryRow, token: string, now: number, leaseMs: number): void {
  row.lockedBy = token;
  row.lockedAt = now;
  row.lockedUntil = now + leaseMs;
}

function clearLock(row: MemoryRow): void {
  row.lockedBy = null;
  row.lockedAt = null;
  row.lockedUntil = null;
}

/** Copies the columns that callers may see. */
function copy(row: MemoryRow): ClaimedEvent {
  const { orderKey: _key, lockedUntil: _until, blocksKey: _blocks, ...event } = row;
  return event;
}
