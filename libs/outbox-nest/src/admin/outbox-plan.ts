import type { EventFilter, ListedEvent } from '@nest-event-bus/outbox';
import { createHash } from 'node:crypto';
import { causeGroupsOf, type OutboxCauseGroup } from './cause-groups.js';

/** Which DEAD events. Without a condition, all of them. */
export interface DeadEventSelection extends EventFilter {
  /** The id of a group of cause. */
  readonly group?: string;
}

/** DEAD events that were shown. A command with its id changes these, or nothing. */
export interface OutboxPlan {
  readonly id: string;
  readonly selection: DeadEventSelection;
  readonly count: number;
  readonly groups: readonly OutboxCauseGroup[];
  /** Events of the plan that block their keys. A purge leaves them out. */
  readonly blocking: number;
  /** False if there are more DEAD events than one plan holds. Plan again after it. */
  readonly isComplete: boolean;
}

/** What a plan and the id of a plan are made from. */
export interface PlannedEvents {
  readonly events: readonly ListedEvent[];
  readonly isComplete: boolean;
}

export function planOf(
  selection: DeadEventSelection,
  { events, isComplete }: PlannedEvents,
): OutboxPlan {
  return {
    id: planIdOf(events),
    selection,
    count: events.length,
    groups: causeGroupsOf(events),
    blocking: events.filter(({ blocksKey }) => blocksKey).length,
    isComplete,
  };
}

/** The place of the last event, which leaves out later ones that die meanwhile, and a digest of all. */
export function planIdOf(events: readonly ListedEvent[]): string {
  const digest = createHash('sha256');
  for (const { eventId } of events) digest.update(`${eventId}\n`);
  return `${events.at(-1)?.sequence ?? 0}-${digest.digest('hex').slice(0, 24)}`;
}

/** The place of the last event of a plan; undefined if the text is no id of a plan. */
export function lastSequenceOf(planId: string): number | undefined {
  const found = /^(\d{1,16})-[0-9a-f]{24}$/.exec(planId);
  return found ? Number(found[1]) : undefined;
}
