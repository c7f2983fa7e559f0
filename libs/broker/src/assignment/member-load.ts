import type { TopicPartition } from '../port/record.js';

/**
 * The members that may have a partition. Topics with the same subscribers share one pool, so that
 * the work grows with the number of different subscriptions, not of topics.
 */
export interface Pool {
  readonly seats: ReadonlySet<Seat>;
}

/** A partition on its way to a member. */
export interface Slot extends TopicPartition {
  readonly pool: Pool;
  /** By member id; null when nobody has a claim. */
  readonly previousOwner: string | null;
  /** Its place among all slots, by topic and partition. */
  readonly order: number;
}

/** A member and what it has been given so far: its own of before, and what visits it. */
export class Seat {
  readonly #own = new Holding();
  readonly #visiting = new Holding();

  constructor(
    readonly memberId: string,
    readonly topics: readonly string[],
    /** Its place among all members. */
    readonly order: number,
  ) {}

  get load(): number {
    return this.#own.slots.size + this.#visiting.slots.size;
  }

  take(slot: Slot): void {
    this.#holdingOf(slot).add(slot);
  }

  /** Who could take what visits this member: that moves anyway, so that giving it costs nothing. */
  receiversOfVisiting(): Iterable<Seat> {
    return this.#visiting.receivers();
  }

  receiversOfOwn(): Iterable<Seat> {
    return this.#own.receivers();
  }

  /** Gives one partition to one of its receivers: what comes home, else what visits, else its own. */
  giveTo(receiver: Seat): void {
    const slot =
      this.#visiting.comingHomeTo(receiver) ??
      this.#visiting.firstFor(receiver) ??
      this.#own.firstFor(receiver);
    if (slot === undefined)
      throw new Error(`"${this.memberId}" has nothing that "${receiver.memberId}" may have.`);
    this.#holdingOf(slot).remove(slot);
    receiver.take(slot);
  }

  share(): TopicPartition[] {
    return [...this.#own.slots, ...this.#visiting.slots]
      .sort((left, right) => left.order - right.order)
      .map(({ topic, partition }) => ({ topic, partition }));
  }

  #holdingOf(slot: Slot): Holding {
    return slot.previousOwner === this.memberId ? this.#own : this.#visiting;
  }
}

/** Slots, and who else could have one of them. */
class Holding {
  readonly slots = new Set<Slot>();
  readonly #slotsOf = new Map<Pool, number>();
  /** In how many of the pools held here each member is. */
  readonly #poolsOf = new Map<Seat, number>();

  add(slot: Slot): void {
    this.slots.add(slot);
    if (change(this.#slotsOf, slot.pool, 1) > 1) return;
    for (const seat of slot.pool.seats) change(this.#poolsOf, seat, 1);
  }

  receivers(): Iterable<Seat> {
    return this.#poolsOf.keys();
  }

  comingHomeTo(receiver: Seat): Slot | undefined {
    for (const slot of this.slots) if (slot.previousOwner === receiver.memberId) return slot;
    return undefined;
  }

  firstFor(receiver: Seat): Slot | undefined {
    if (!this.#poolsOf.has(receiver)) return undefined;
    for (const slot of this.slots) if (slot.pool.seats.has(receiver)) return slot;
    return undefined;
  }

  remove(slot: Slot): void {
    this.slots.delete(slot);
    if (change(this.#slotsOf, slot.pool, -1) > 0) return;
    for (const seat of slot.pool.seats) change(this.#poolsOf, seat, -1);
  }
}

/** Counts, and forgets what has come to zero. */
function change<Key>(counts: Map<Key, number>, key: Key, by: 1 | -1): number {
  const count = (counts.get(key) ?? 0) + by;
  if (count === 0) counts.delete(key);
  else counts.set(key, count);
  return count;
}
