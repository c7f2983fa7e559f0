import type { MemberHistory } from '../support/ownership-periods.js';

/** Two members that owned the same partition in one generation. */
export interface DoubleClaim {
  readonly generation: number;
  readonly partition: number;
  readonly members: readonly string[];
}

export function doubleClaims(histories: readonly MemberHistory[]): DoubleClaim[] {
  const claims = new Map<string, DoubleClaim>();
  for (const { name, events } of histories)
    for (const event of events) {
      if (event.kind !== 'owns') continue;
      const { generation } = event;
      for (const partition of event.partitions) {
        const key = `${generation}/${partition}`;
        const members = new Set(claims.get(key)?.members).add(name);
        claims.set(key, { generation, partition, members: [...members] });
      }
    }
  return [...claims.values()].filter(({ members }) => members.length > 1);
}
