import type { MemberLoad } from './member-load.js';

/*
 * Makes the loads as even as the subscriptions allow.
 *
 * From the member with the highest load a chain "a gives one to b, b gives one to c, ..." is
 * searched that ends at a member with at least two fewer. Moving along the chain reduces the sum of
 * the squared loads, so the loop ends. If no chain exists, no reached member can ever become part
 * of one (no chain leads out of the reached members, and no other member has a higher load), so
 * they are closed. When all members are closed, no other assignment is more even.
 *
 * Acquired partitions move anyway. So chains that move only acquired partitions are tried first,
 * then those in which one member gives up a retained partition, then two, and so on.
 */

type ChainSearch =
  /** The members from the first giver to the last receiver. */
  | { readonly kind: 'chain'; readonly members: readonly MemberLoad[] }
  | { readonly kind: 'exhausted'; readonly reached: Iterable<MemberLoad> };

/** Returns the number of moves. */
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

/**
 * Moves from the end backwards: each member gives before it receives, and never passes on what it
 * just received.
 */
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

/** Returns the member with the lowest load; the first one in member order if there are several. */
export function leastLoaded(members: Iterable<MemberLoad>): MemberLoad | undefined {
  let least: MemberLoad | undefined;
  for (const member of members)
    if (least === undefined || compareLoad(member, least) < 0) least = member;
  return least;
}

function compareLoad(left: MemberLoad, right: MemberLoad): number {
  return left.load - right.load || left.order - right.order;
}
