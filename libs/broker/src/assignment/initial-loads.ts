import type { PreviousOwners } from './previous-owners.js';
import { Seat, type Pool, type Slot } from './member-load.js';
import { subscribersByTopic } from './subscribers.js';

export interface Seating {
  readonly seats: readonly Seat[];
  /** By topic and partition: every partition that somebody subscribes to. */
  readonly slots: readonly Slot[];
}

/** `members` in the order in which they are to be preferred. */
export function seatingOf(
  members: readonly { readonly memberId: string; readonly topics: readonly string[] }[],
  partitionsOf: ReadonlyMap<string, number>,
  owners: PreviousOwners,
): Seating {
  const seats = members.map(({ memberId, topics }, order) => new Seat(memberId, topics, order));
  const pools = new Map<string, Pool>();
  const slots: Slot[] = [];
  for (const [topic, subscribers] of subscribersByTopic(seats)) {
    const key = subscribers.map(({ order }) => order).join();
    const pool = pools.get(key) ?? { seats: new Set(subscribers) };
    pools.set(key, pool);
    const count = partitionsOf.get(topic) ?? 0;
    for (let partition = 0; partition < count; partition++)
      slots.push({
        topic,
        partition,
        pool,
        order: slots.length,
        previousOwner: owners.ownerOf(topic, partition),
      });
  }
  return { seats, slots };
}
