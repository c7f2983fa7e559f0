import type { MemberEvent } from './member-messages.js';

/** Events of a member, and the end of its process if it has ended. */
export interface MemberHistory {
  readonly name: string;
  readonly events: readonly MemberEvent[];
  readonly endedAt: number | undefined;
}

/** Ownership of one partition by one member, from `onAssigned` to the end of `onRevoked` or to `onLost`. */
export interface OwnershipPeriod {
  readonly member: string;
  readonly partition: number;
  readonly generation: number;
  readonly from: number;
  until: number;
  endedBy: 'revoked' | 'lost' | 'death' | 'nothing';
}

/** A member owned the partition before another member had released it. */
export interface Overlap {
  readonly partition: number;
  readonly earlier: OwnershipPeriod;
  readonly later: OwnershipPeriod;
}

export function ownershipPeriodsOf(histories: readonly MemberHistory[]): OwnershipPeriod[] {
  return histories.flatMap(periodsOfOne);
}

function periodsOfOne({ name, events, endedAt }: MemberHistory): OwnershipPeriod[] {
  const all: OwnershipPeriod[] = [];
  const open = new Map<number, OwnershipPeriod>();
  for (const event of events) {
    if (event.kind === 'assigned') {
      for (const { partition } of event.positions) {
        const period: OwnershipPeriod = {
          member: name,
          partition,
          generation: event.generation,
          from: event.at,
          until: Infinity,
          endedBy: 'nothing',
        };
        all.push(period);
        open.set(partition, period);
      }
    } else if (event.kind === 'revoked' || event.kind === 'lost') {
      for (const partition of event.partitions) {
        const period = open.get(partition);
        if (period) Object.assign(period, { until: event.at, endedBy: event.kind });
        open.delete(partition);
      }
    }
  }
  if (endedAt !== undefined)
    for (const period of open.values()) Object.assign(period, { until: endedAt, endedBy: 'death' });
  return all;
}

/** The group assigned one partition to two members in the same generation. */
export function sharedInOneGeneration(periods: readonly OwnershipPeriod[]): Overlap[] {
  return pairs(periods).filter(
    ({ earlier, later }) => earlier.generation === later.generation && earlier !== later,
  );
}

/** A revoking member is awaited: the next owner gets the partition when `onRevoked` has ended. */
export function takenBeforeHandedBack(periods: readonly OwnershipPeriod[]): Overlap[] {
  return handovers(periods).filter(
    ({ earlier, later }) => earlier.endedBy === 'revoked' && earlier.until > later.from,
  );
}

/** The longest time that a member that was fenced still acted as owner of a reassigned partition. */
export function slowestToNotice(periods: readonly OwnershipPeriod[]): number {
  const late = handovers(periods)
    .filter(({ earlier }) => earlier.endedBy === 'lost')
    .map(({ earlier, later }) => earlier.until - later.from);
  return Math.max(0, ...late);
}

/** A commit that the broker accepted from a former owner. */
export function commitsAfterTakeover(
  histories: readonly MemberHistory[],
  periods: readonly OwnershipPeriod[],
): (MemberEvent & { readonly kind: 'committed' })[] {
  return histories.flatMap(({ name, events }) =>
    events
      .filter((event) => event.kind === 'committed')
      .filter(({ generation, startedAt, positions }) =>
        periods.some(
          (period) =>
            period.member !== name &&
            period.generation > generation &&
            period.from < startedAt &&
            positions.some(({ partition }) => partition === period.partition),
        ),
      ),
  );
}

/** Current owners of the partition: not exactly one while it moves. */
export function ownersOf(partition: number, periods: readonly OwnershipPeriod[]): string[] {
  return periods
    .filter((period) => period.partition === partition && period.endedBy === 'nothing')
    .map(({ member }) => member);
}

function handovers(periods: readonly OwnershipPeriod[]): Overlap[] {
  return pairs(periods).filter(({ earlier, later }) => earlier.generation < later.generation);
}

function pairs(periods: readonly OwnershipPeriod[]): Overlap[] {
  return periods.flatMap((one, index) =>
    periods
      .slice(index + 1)
      .filter((other) => other.partition === one.partition && other.member !== one.member)
      .map((other) =>
        one.generation <= other.generation
          ? { partition: one.partition, earlier: one, later: other }
          : { partition: one.partition, earlier: other, later: one },
      ),
  );
}
