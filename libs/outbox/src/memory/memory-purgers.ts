import { EventStatus } from '../model/event-status.js';
import type { EventPurger } from '../spi/event-purger.js';
import type { SqlConnection } from '../spi/sql-connection.js';
import type { MemoryDatabase } from './memory-database.js';
import type { MemoryRow } from './memory-row.js';

/** Deletes old events of a MemoryDatabase. */
export class MemoryEventPurger implements EventPurger {
  constructor(
    private readonly database: MemoryDatabase,
    readonly kind: EventPurger['kind'] = 'status',
  ) {}

  purge(_connection: SqlConnection, before: number, limit: number): Promise<number> {
    const old = [...this.database.rows.values()]
      .filter((row) => (this.kind === 'age' ? row.createdAt : endOf(row)) < before)
      .sort((a, b) => a.createdAt - b.createdAt)
      .slice(0, limit);
    for (const { eventId } of old) this.database.rows.delete(eventId);
    return Promise.resolve(old.length);
  }
}

/** The time at which the event was finished; Infinity if it is not, or if it blocks its key. */
function endOf(row: MemoryRow): number {
  const isFinished = row.status === EventStatus.DONE || row.status === EventStatus.DEAD;
  return isFinished && !row.blocksKey ? (row.doneAt ?? row.createdAt) : Infinity;
}
