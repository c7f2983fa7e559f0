import type { Seat } from './member-load.js';

/*
 * Makes the loads as even as the subscriptions allow. From the fullest member we look for a chain
 * "a gives one to b, b gives one to c, ..." that ends at a member with at least two fewer: after it
 * the sum of the squared loads is smaller, so this ends. Where no chain exists, nothing that was
 * reached can ever become part of one (no chain leads out of it, and nobody outside is fuller), so
 * it is closed. When all are closed, no other assignment is more even.
 *
 * What visits a member moves anyway, so the chains that only pass on visiting partitions are
 * looked at first, then those in which one member gives up its own, then two, and so on.
 */

type Search =
  /** Who gives, who passes on, who receives: the source first. */
  | { readonly kind: 'chain'; readonly seats: readonly Seat[] }
  | { readonly kind: 'exhausted'; readonly reached: Iterable<Seat> };

/** Answers how often a partition changed hands. */
export function balance(seats: readonly Seat[]): number {
  const open = new Set(seats);
  let moves = 0;
  for (let fullest = fullestOf(open); fullest !== undefined; fullest = fullestOf(open)) {
    const search = findChain(fullest, open);
    switch (search.kind) {
      case 'chain':
        moves += passAlong(search.seats);
        break;
      case 'exhausted':
        for (const seat of search.reached) open.delete(seat);
    }
  }
  return moves;
}

function findChain(source: Seat, open: ReadonlySet<Seat>): Search {
  const giverOf = new Map<Seat, Seat | null>([[source, null]]);
  for (let level = [source]; level.length > 0;) {
    const reached: Seat[] = [];
    for (let layer = level; layer.length > 0;) {
      const end = lightestOf(layer);
      if (end !== undefined && end.load <= source.load - 2)
        return { kind: 'chain', seats: chainTo(end, giverOf) };
      reached.push(...layer);
      layer = layer.flatMap((giver) =>
        newReceivers(giver, giver.receiversOfVisiting(), open, giverOf),
      );
    }
    level = reached.flatMap((giver) => newReceivers(giver, giver.receiversOfOwn(), open, giverOf));
  }
  return { kind: 'exhausted', reached: giverOf.keys() };
}

function newReceivers(
  giver: Seat,
  receivers: Iterable<Seat>,
  open: ReadonlySet<Seat>,
  giverOf: Map<Seat, Seat | null>,
): Seat[] {
  const found: Seat[] = [];
  for (const receiver of receivers) {
    if (!open.has(receiver) || giverOf.has(receiver)) continue;
    giverOf.set(receiver, giver);
    found.push(receiver);
  }
  return found;
}

function chainTo(end: Seat, giverOf: ReadonlyMap<Seat, Seat | null>): Seat[] {
  const chain: Seat[] = [];
  for (let seat: Seat | null = end; seat !== null; seat = giverOf.get(seat) ?? null)
    chain.unshift(seat);
  return chain;
}

/** From the end backwards: each member gives before it receives, and never passes on what it was just given. */
function passAlong(chain: readonly Seat[]): number {
  const fromTheEnd = [...chain].reverse();
  fromTheEnd.reduce((receiver, giver) => {
    giver.giveTo(receiver);
    return giver;
  });
  return chain.length - 1;
}

function fullestOf(seats: Iterable<Seat>): Seat | undefined {
  let fullest: Seat | undefined;
  for (const seat of seats) if (fullest === undefined || seat.load > fullest.load) fullest = seat;
  return fullest;
}

/** Of several with the least, the first in the order of the members. */
export function lightestOf(seats: Iterable<Seat>): Seat | undefined {
  let lightest: Seat | undefined;
  for (const seat of seats)
    if (lightest === undefined || compareLoad(seat, lightest) < 0) lightest = seat;
  return lightest;
}

function compareLoad(left: Seat, right: Seat): number {
  return left.load - right.load || left.order - right.order;
}
