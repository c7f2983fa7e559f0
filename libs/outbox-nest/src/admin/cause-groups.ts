import type { ListedEvent } from '@nest-event-bus/outbox';
import { createHash } from 'node:crypto';

/** DEAD events of one type whose errors differ only in numbers and identifiers. */
export interface OutboxCauseGroup {
  readonly id: string;
  readonly eventType: string;
  readonly aggregateType: string | null;
  /** The class of the error. */
  readonly error: string;
  readonly count: number;
  readonly firstCreatedAt: number;
  readonly lastCreatedAt: number;
  /** The first event of the group. */
  readonly eventId: string;
}

/** Returns the class of the error, which is the text before the first colon. */
export function errorClassOf({ lastError }: Pick<ListedEvent, 'lastError'>): string {
  const [first = ''] = (lastError ?? '').split(':');
  return /^[\w$.]{1,100}$/.test(first) ? first : 'unknown';
}

/** Numbers, identifiers and quoted parts of a message are its data, and the rest is its cause. */
const shapeOf = (lastError: string): string =>
  lastError
    .slice(0, 1_000)
    .replaceAll(/"[^"]*"|'[^']*'/g, '?')
    .replaceAll(/\b[\w-]*\d[\w-]*\b/g, '?');

export function causeGroupIdOf(event: ListedEvent): string {
  const { eventType, aggregateType, lastError } = event;
  const cause = JSON.stringify([eventType, aggregateType, shapeOf(lastError ?? '')]);
  return createHash('sha256').update(cause).digest('hex').slice(0, 16);
}

/** Returns the groups, the largest first. */
export function causeGroupsOf(events: readonly ListedEvent[]): readonly OutboxCauseGroup[] {
  const groups = new Map<string, OutboxCauseGroup>();
  for (const event of events) {
    const id = causeGroupIdOf(event);
    const { eventType, aggregateType, createdAt, eventId } = event;
    const known = groups.get(id);
    groups.set(
      id,
      known
        ? {
            ...known,
            count: known.count + 1,
            firstCreatedAt: Math.min(known.firstCreatedAt, createdAt),
            lastCreatedAt: Math.max(known.lastCreatedAt, createdAt),
          }
        : {
            ...{ id, eventType, aggregateType, error: errorClassOf(event), count: 1 },
            ...{ firstCreatedAt: createdAt, lastCreatedAt: createdAt, eventId },
          },
    );
  }
  return [...groups.values()].sort((a, b) => b.count - a.count || (a.id < b.id ? -1 : 1));
}
