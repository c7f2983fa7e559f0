import { EventStatus } from '../model/event-status.js';
import type { OutboxEvent } from '../model/outbox-event.js';
import type { Runtime } from '../runtime/runtime.js';
import type {
  EventSelection,
  ListedEvent,
  OutboxFigures,
  OutboxInspection,
} from '../spi/outbox-inspection.js';
import type { SqlConnection } from '../spi/sql-connection.js';
import type { MemoryDatabase } from './memory-database.js';
import type { MemoryRow } from './memory-row.js';

/** Shows the events of a MemoryDatabase to health and operators. */
export class MemoryInspection implements OutboxInspection {
  constructor(
    private readonly database: MemoryDatabase,
    private readonly clock: Pick<Runtime, 'now'>,
  ) {}

  figures(_connection: SqlConnection, limit: number): Promise<OutboxFigures> {
    const pending = this.#rows(isPending);
    const now = this.clock.now();
    return Promise.resolve({
      pending: Math.min(limit, pending.length),
      dead: Math.min(limit, this.#rows(isDead).length),
      blockedKeys: new Set(this.#rows(({ blocksKey }) => blocksKey).map((row) => row.orderKey))
        .size,
      longestDueMs: Math.max(0, ...pending.map(({ availableAt }) => now - availableAt)),
    });
  }

  listEvents(
    _connection: SqlConnection,
    selection: EventSelection,
  ): Promise<readonly ListedEvent[]> {
    const { status, limit } = selection;
    const found = this.#rows(status === 'dead' ? isDead : isPending)
      .filter((row) => matches(row, selection))
      .sort((a, b) => a.sequence - b.sequence);
    return Promise.resolve(found.slice(0, limit).map(listed));
  }

  readEvent(_connection: SqlConnection, eventId: string): Promise<OutboxEvent | null> {
    const row = this.database.rows.get(eventId);
    return Promise.resolve(row ? { ...row } : null);
  }

  purgeDead(_connection: SqlConnection, eventIds: readonly string[]): Promise<number> {
    const ids = new Set(eventIds);
    const purged = this.#rows((row) => isDead(row) && !row.blocksKey && ids.has(row.eventId));
    for (const { eventId } of purged) this.database.rows.delete(eventId);
    return Promise.resolve(purged.length);
  }

  #rows(condition: (row: MemoryRow) => boolean): MemoryRow[] {
    return [...this.database.rows.values()].filter(condition);
  }
}

const isPending = ({ status }: MemoryRow): boolean =>
  status === EventStatus.NEW || status === EventStatus.RETRY;
const isDead = ({ status }: MemoryRow): boolean => status === EventStatus.DEAD;

const matches = (row: MemoryRow, selection: EventSelection): boolean =>
  (selection.eventType ?? row.eventType) === row.eventType &&
  (selection.aggregateType ?? row.aggregateType) === row.aggregateType &&
  (selection.aggregateId ?? row.aggregateId) === row.aggregateId &&
  row.createdAt < (selection.createdBefore ?? Infinity) &&
  row.sequence > (selection.afterSequence ?? -1) &&
  row.sequence <= (selection.upToSequence ?? Infinity);

function listed(row: MemoryRow): ListedEvent {
  const { sequence, eventId, eventType, aggregateType, aggregateId, tenantId } = row;
  const { status, attempts, availableAt, createdAt, lastError, blocksKey } = row;
  return {
    ...{ sequence, eventId, eventType, aggregateType, aggregateId, tenantId },
    ...{ status, attempts, availableAt, createdAt, lastError, blocksKey },
  };
}
