import type { ChurnEvent } from './churn-member.js';

/** For how long a member had a partition, by its own word. */
export interface Tenure {
  readonly member: string;
  readonly partition: number;
  readonly from: number;
  readonly to: number;
}

export interface Story {
  readonly name: string;
  readonly events: readonly ChurnEvent[];
  /** Of one that was killed. */
  readonly endedAt?: number;
}

export function tenuresOf({ name, events, endedAt = Infinity }: Story): readonly Tenure[] {
  const begun = new Map<number, number>();
  const tenures: Tenure[] = [];
  const end = (partition: number, to: number): void => {
    const from = begun.get(partition);
    if (from !== undefined) tenures.push({ member: name, partition, from, to });
    begun.delete(partition);
  };
  for (const event of events) {
    if (event.kind === 'handled') continue;
    for (const partition of event.partitions)
      if (event.kind === 'assigned') begun.set(partition, event.at);
      else end(partition, event.at);
  }
  for (const partition of [...begun.keys()]) end(partition, endedAt);
  return tenures;
}

/** Two members with one partition at the same time. */
export function overlaps(tenures: readonly Tenure[]): readonly (readonly [Tenure, Tenure])[] {
  const inOrder = tenures.toSorted((left, right) => left.from - right.from);
  return inOrder.flatMap((earlier, index) =>
    inOrder
      .slice(index + 1)
      .filter((later) => later.partition === earlier.partition && later.from < earlier.to)
      .map((later) => [earlier, later] as const),
  );
}
