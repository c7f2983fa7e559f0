import type { SqlConnection } from './sql-connection.js';

/** Deletes old events. The caller owns the transaction. */
export interface EventPurger {
  /** `status`: only finished events. `age`: events of any status, for tables that no dispatcher reads. */
  readonly kind: 'status' | 'age';
  /**
   * Deletes at most `limit` events that are older than `before`, the oldest first. Returns the
   * number of deleted events. A DEAD event that blocks its key is never deleted by status.
   */
  purge(connection: SqlConnection, before: number, limit: number): Promise<number>;
}
