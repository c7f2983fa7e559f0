import { EventStatus } from '../model/event-status.js';
import type { LeaseRequest } from '../spi/leased-outbox-store.js';
import type { MemoryRow } from './memory-row.js';

/** Selects the rows of one lease from all rows, which are in the order of their sequence. */
export function selectForLease(
  rows: readonly MemoryRow[],
  { limit, order }: LeaseRequest,
  now: number,
): readonly MemoryRow[] {
  const selected: MemoryRow[] = [];
  const heldBackKeys = new Set<string>();
  let hasSuspect = false;
  for (const row of rows) {
    if (selected.length >= limit) break;
    if (row.status === EventStatus.DONE) continue;
    const key = order === 'key' ? row.orderKey : null;
    const isSuspect = row.unfinishedAttempts > 0;
    const isHeldBack = key !== null && heldBackKeys.has(key);
    if (!isHeldBack && isDue(row, now) && !(isSuspect && hasSuspect)) {
      selected.push(row);
      hasSuspect ||= isSuspect;
    } else if (key !== null && (row.status !== EventStatus.DEAD || row.blocksKey)) {
      heldBackKeys.add(key);
    }
  }
  return selected;
}

function isDue(row: MemoryRow, now: number): boolean {
  const isPending = row.status === EventStatus.NEW || row.status === EventStatus.RETRY;
  const isFree = row.lockedUntil === null || row.lockedUntil <= now;
  return isPending && isFree && row.availableAt <= now;
}
