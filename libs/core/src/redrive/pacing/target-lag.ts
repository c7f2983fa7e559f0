import type { AdminSession } from '@nest-event-bus/broker';

/** The group that handles the replayed records, and the topic from which it reads them. */
export interface LagTarget {
  readonly groupId: string;
  readonly topic: string;
}

/**
 * Returns how many records the group has before it. The cluster is asked, so the binding need not
 * run in this process. A partition without a commit counts in full.
 */
export async function targetLag(
  admin: Pick<AdminSession, 'groupOffsets' | 'watermarks'>,
  { groupId, topic }: LagTarget,
): Promise<number> {
  const committed = new Map(
    (await admin.groupOffsets(groupId, [topic])).map(({ partition, offset }) => [
      partition,
      offset,
    ]),
  );
  const marks = await admin.watermarks(topic);
  return marks.reduce((sum, { partition, low, high }) => {
    const next = Math.max(low, committed.get(partition) ?? low);
    return sum + Math.max(0, high - next);
  }, 0);
}
