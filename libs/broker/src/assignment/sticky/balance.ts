import type { MemberLoad } from './member-load.js';

/*
 * Makes the loads as even as the subscriptions allow. From the most member we look for a chain
 * "a gives one to b, b gives one to c, ..." that ends at a member with at least two fewer: after it
 * the sum of the squared loads is smaller, so this ends. Where no chain exists, nothing that was
 * reached can ever become part of one (no chain leads out of it, and nobody outside is fuller), so
 * it is closed. When all are closed, no other assignment is more even.
 *
 * What visits a member moves anyway, so the chains that only pass on visiting partitions are
 * looked at first, then those in which one member gives up its own, then two, and so on.
 */

type ChainSearch =
  /** Who gives, who passes on, who receives: the source first. */
  | { readonly kind: 'chain'; readonly members: readonly MemberLoad[] }
  | { readonly kind: 'exhausted'; readonly reached: Iterable<MemberLoad> };

/** Answers how often a partition changed hands. */
export function balance(members: readonly MemberLoad[]): number {
  const open = new Set(members);
  let moves = 0;
  for (let most = mostLoaded(open); most !== undefined; most = mostLoaded(open)) {
    const search = findChain(most, open);
    switch (search.kind) {
      case 'chain':
        moves += moveAlongChain(search.members);
        break;
      case 'exhausted':
        for (const member of search.reached) open.delete(member);
    }
  }
  return moves;
}

function findChain(source: MemberLoad, open: ReadonlySet<MemberLoad>): ChainSearch {
  const giverOf = new Map<MemberLoad, MemberLoad | null>([[source, null]]);
  for (let level = [source]; level.length > 0;) {
    const reached: MemberLoad[] = [];
    for (let layer = level; layer.length > 0;) {
      const end = leastLoaded(layer);
      if (end !== undefined && end.load <= source.load - 2)
        return { kind: 'chain', members: chainTo(end, giverOf) };
      reached.push(...layer);
      layer = layer.flatMap((giver) =>
        newReceivers(giver, giver.receiversOfAcquired(), open, giverOf),
      );
    }
    level = reached.flatMap((giver) =>
      newReceivers(giver, giver.receiversOfRetained(), open, giverOf),
    );
  }
  return { kind: 'exhausted', reached: giverOf.keys() };
}

function newReceivers(
  giver: MemberLoad,
  receivers: Iterable<MemberLoad>,
  open: ReadonlySet<MemberLoad>,
  giverOf: Map<MemberLoad, MemberLoad | null>,
): MemberLoad[] {
  const found: MemberLoad[] = [];
  for (const receiver of receivers) {
    if (!open.has(receiver) || giverOf.has(receiver)) continue;
    giverOf.set(receiver, giver);
    found.push(receiver);
  }
  return found;
}

function chainTo(
  end: MemberLoad,
  giverOf: ReadonlyMap<MemberLoad, MemberLoad | null>,
): MemberLoad[] {
  const chain: MemberLoad[] = [];
  for (let member: MemberLoad | null = end; member !== null; member = giverOf.get(member) ?? null)
    chain.unshift(member);
  return chain;
}

/** From the end backwards: each member gives before it receives, and never passes on what it was just given. */
function moveAlongChain(chain: readonly MemberLoad[]): number {
  const fromTheEnd = [...chain].reverse();
  fromTheEnd.reduce((receiver, giver) => {
    giver.giveTo(receiver);
    return giver;
  });
  return chain.length - 1;
}

function mostLoaded(members: Iterable<MemberLoad>): MemberLoad | undefined {
  let most: MemberLoad | undefined;
  for (const member of members) if (most === undefined || member.load > most.load) most = member;
  return most;
}

/** Of several with the least, the first in the order of the members. */
export function leastLoaded(members: Iterable<MemberLoad>): MemberLoad | undefined {
  let least: MemberLoad | undefined;
  for (const member of members)
    if (least === undefined || compareLoad(member, least) < 0) least = member;
  return least;
}

function compareLoad(left: MemberLoad, right: MemberLoad): number {
  return left.load - right.load || left.order - right.order;
}
