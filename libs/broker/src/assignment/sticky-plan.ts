import type { AssignmentPlan, PreviousAssignment } from './assignor.js';
import { balance, lightestOf } from './balance.js';
import { PreviousOwners } from './previous-owners.js';
import type { Slot } from './member-load.js';
import { seatingOf, type Seating } from './initial-loads.js';

export interface StickyMember {
  readonly memberId: string;
  readonly topics: readonly string[];
  readonly previous: PreviousAssignment | null;
}

/**
 * The plan that is as even as the subscriptions allow and, within that, leaves partitions where
 * they were: everybody keeps what was theirs, the rest goes to whoever has least, then only what
 * evenness demands changes hands. Where a member's previous assignment comes from (user data for
 * eager members, owned partitions for cooperative ones) is the caller's affair.
 *
 * `members` have distinct ids and stand in the order in which they are to be preferred.
 */
export function stickyPlan(
  members: readonly StickyMember[],
  partitionsOf: ReadonlyMap<string, number>,
): AssignmentPlan {
  const seating = seatingOf(members, partitionsOf, previousOwnersOf(members));
  placeWithWhoeverHasLeast(keepWhatWasTheirs(seating));
  balance(seating.seats);
  return new Map(seating.seats.map((seat) => [seat.memberId, seat.share()]));
}

/** A claim counts only on a topic that the member still subscribes to. */
function previousOwnersOf(members: readonly StickyMember[]): PreviousOwners {
  const owners = new PreviousOwners();
  for (const { memberId, topics, previous } of members) {
    if (previous === null) continue;
    const subscribed = new Set(topics);
    for (const claimed of previous.partitions)
      if (subscribed.has(claimed.topic)) owners.claim(memberId, previous.generation, claimed);
  }
  return owners;
}

/** Answers the slots that were nobody's. */
function keepWhatWasTheirs({ seats, slots }: Seating): Slot[] {
  const seatOf = new Map(seats.map((seat) => [seat.memberId, seat]));
  return slots.filter((slot) => {
    const seat = slot.previousOwner === null ? undefined : seatOf.get(slot.previousOwner);
    seat?.take(slot);
    return seat === undefined;
  });
}

/** Those with the fewest takers first: the others can still go elsewhere. */
function placeWithWhoeverHasLeast(slots: readonly Slot[]): void {
  const choosiestFirst = [...slots].sort(
    (left, right) => left.pool.seats.size - right.pool.seats.size || left.order - right.order,
  );
  for (const slot of choosiestFirst) lightestOf(slot.pool.seats)?.take(slot);
}
