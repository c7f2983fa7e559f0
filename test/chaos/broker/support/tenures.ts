import type { MemberEvent } from './member-messages.js';

/** What a member has said, and when its process ended, if it did. */
export interface MemberStory {
  readonly name: string;
  readonly events: readonly MemberEvent[];
  readonly endedAt: number | undefined;
}

/** One partition in the hands of one member, from `onAssigned` to the end of `onRevoked`, or to `onLost`. */
export interface Tenure {
  readonly member: string;
  readonly partition: number;
  readonly generation: number;
  readonly from: number;
  until: number;
  endedBy: 'revoked' | 'lost' | 'death' | 'nothing';
}

/** Somebody had it before somebody else had given it up. */
export interface Overlap {
  readonly partition: number;
  readonly earlier: Tenure;
  readonly later: Tenure;
}

export function tenuresOf(stories: readonly MemberStory[]): Tenure[] {
  return stories.flatMap(tenuresOfOne);
}

function tenuresOfOne({ name, events, endedAt }: MemberStory): Tenure[] {
  const all: Tenure[] = [];
  const open = new Map<number, Tenure>();
  for (const event of events) {
    if (event.kind === 'assigned') {
      for (const { partition } of event.positions) {
        const tenure: Tenure = {
          member: name,
          partition,
          generation: event.generation,
          from: event.at,
          until: Infinity,
          endedBy: 'nothing',
        };
        all.push(tenure);
        open.set(partition, tenure);
      }
    } else if (event.kind === 'revoked' || event.kind === 'lost') {
      for (const partition of event.partitions) {
        const tenure = open.get(partition);
        if (tenure) Object.assign(tenure, { until: event.at, endedBy: event.kind });
        open.delete(partition);
      }
    }
  }
  if (endedAt !== undefined)
    for (const tenure of open.values()) Object.assign(tenure, { until: endedAt, endedBy: 'death' });
  return all;
}

/** The group gave one partition to two members at once. */
export function sharedInOneGeneration(tenures: readonly Tenure[]): Overlap[] {
  return pairs(tenures).filter(
    ({ earlier, later }) => earlier.generation === later.generation && earlier !== later,
  );
}

/** A member that hands back is waited for: the next one gets the partition when `onRevoked` has ended. */
export function takenBeforeHandedBack(tenures: readonly Tenure[]): Overlap[] {
  return handovers(tenures).filter(
    ({ earlier, later }) => earlier.endedBy === 'revoked' && earlier.until > later.from,
  );
}

/** How long a member that was given up at most believed to own what another one had got. */
export function slowestToNotice(tenures: readonly Tenure[]): number {
  const late = handovers(tenures)
    .filter(({ earlier }) => earlier.endedBy === 'lost')
    .map(({ earlier, later }) => earlier.until - later.from);
  return Math.max(0, ...late);
}

/** A commit that the broker accepted from a member of the past. */
export function commitsAfterTakeover(
  stories: readonly MemberStory[],
  tenures: readonly Tenure[],
): (MemberEvent & { readonly kind: 'committed' })[] {
  return stories.flatMap(({ name, events }) =>
    events
      .filter((event) => event.kind === 'committed')
      .filter(({ generation, startedAt, positions }) =>
        tenures.some(
          (tenure) =>
            tenure.member !== name &&
            tenure.generation > generation &&
            tenure.from < startedAt &&
            positions.some(({ partition }) => partition === tenure.partition),
        ),
      ),
  );
}

/** Who has the partition now; more or less than one name while it changes hands. */
export function ownersOf(partition: number, tenures: readonly Tenure[]): string[] {
  return tenures
    .filter((tenure) => tenure.partition === partition && tenure.endedBy === 'nothing')
    .map(({ member }) => member);
}

function handovers(tenures: readonly Tenure[]): Overlap[] {
  return pairs(tenures).filter(({ earlier, later }) => earlier.generation < later.generation);
}

function pairs(tenures: readonly Tenure[]): Overlap[] {
  return tenures.flatMap((one, index) =>
    tenures
      .slice(index + 1)
      .filter((other) => other.partition === one.partition && other.member !== one.member)
      .map((other) =>
        one.generation <= other.generation
          ? { partition: one.partition, earlier: one, later: other }
          : { partition: one.partition, earlier: other, later: one },
      ),
  );
}
