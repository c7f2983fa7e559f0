import { AuthorizationError, type AdminSession } from '@nest-event-bus/broker';

export interface OtherGroupsParts {
  readonly admin: Pick<AdminSession, 'groups' | 'groupOffsets'>;
  readonly topic: string;
  /** The group for which the letters are replayed. */
  readonly groupId: string;
}

/** A cluster with more groups is not searched further. */
const MOST_ASKED = 1_000;
const MOST_NAMED = 100;
const AT_ONCE = 20;

/**
 * Returns the other groups that have committed offsets of the topic. Groups of the bus skip a
 * replay that is not theirs; groups of other software see the record again. Returns undefined
 * without the right to list groups.
 */
export async function otherGroupsOf({
  admin,
  topic,
  groupId,
}: OtherGroupsParts): Promise<readonly string[] | undefined> {
  try {
    const listed = (await admin.groups()).map((group) => group.groupId);
    const asked = listed.filter((name) => name !== groupId).slice(0, MOST_ASKED);
    const found: string[] = [];
    for (let first = 0; first < asked.length; first += AT_ONCE) {
      const names = asked.slice(first, first + AT_ONCE);
      const reads = await Promise.all(
        names.map(async (name) => (await admin.groupOffsets(name, [topic])).length > 0),
      );
      found.push(...names.filter((_, index) => reads[index]));
    }
    return found.toSorted().slice(0, MOST_NAMED);
  } catch (error) {
    if (error instanceof AuthorizationError) return undefined;
    throw error;
  }
}
