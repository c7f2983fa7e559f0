import type { ChurnEvent } from './churn-member.js';

/** The time for which a member owned a partition, according to its own events. */
export interface OwnershipPeriod {
  readonly member: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

export interface MemberHistory {
  readonly name: string;
  readonly events: readonly ChurnEvent[];
  /** The time at which the member was killed. */
  readonly endedAt?: number;
}

export function ownershipPeriods({
  name,
  events,
  endedAt = Infinity,
}: MemberHistory): readonly OwnershipPeriod[] {
  const begun = new Map<number, number>();
  const periods: OwnershipPeriod[] = [];
  const end = (partition: number, to: number): void => {
    const from = begun.get(partition);
    if (from !== undefined) periods.push({ member: name, partition, from, to });
    begun.delete(partition);
  };
  for (const event of events) {
    if (event.kind === 'handled') continue;
    for (const partition of event.partitions)
      if (event.kind === 'assigned') begun.set(partition, event.at);
      else end(partition, event.at);
  }
  for (const partition of [...begun.keys()]) end(partition, endedAt);
  return periods;
}

/** Returns the pairs of members that owned one partition at the same time. */
export function overlappingPeriods(
  periods: readonly OwnershipPeriod[],
): readonly (readonly [OwnershipPeriod, OwnershipPeriod])[] {
  const inOrder = periods.toSorted((left, right) => left.from - right.from);
  return inOrder.flatMap((earlier, index) =>
    inOrder
      .slice(index + 1)
      .filter((later) => later.partition === earlier.partition && later.from < earlier.to)
      .map((later) => [earlier, later] as const),
  );
}
