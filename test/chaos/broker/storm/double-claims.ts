import type { MemberStory } from '../support/tenures.js';

/** Two members that said in one generation that a partition is theirs. */
export interface DoubleClaim {
  readonly generation: number;
  readonly partition: number;
  readonly members: readonly string[];
}

export function doubleClaims(stories: readonly MemberStory[]): DoubleClaim[] {
  const claims = new Map<string, DoubleClaim>();
  for (const { name, events } of stories)
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
