import type { AdminSession } from '@nest-event-bus/broker';
import type { Regression } from '../support/committed-watch.js';
import type { Position } from '../support/member-messages.js';

export const OFFSETS_TOPIC = '__consumer_offsets';
/** Highest key version of offset commits; keys of later versions hold other data. */
const NEWEST_COMMIT_KEY = 1;

/** Partition of an internal topic that belongs to the group or producer: its leader is the coordinator. */
export async function coordinationPartition(
  admin: AdminSession,
  id: string,
  topic: string,
): Promise<number> {
  const [description] = await admin.topics([topic]);
  if (!description) throw new Error(`The cluster has no topic ${topic} yet.`);
  return Math.abs(javaHashCode(id)) % description.partitions.length;
}

/**
 * Returns all commits of the group that the cluster has stored, in order. Reading the group's offsets from outside
 * shows only some of them, and a broker that was frozen answers with old ones.
 */
export async function storedCommits(admin: AdminSession, groupId: string): Promise<Position[]> {
  const partition = await coordinationPartition(admin, groupId, OFFSETS_TOPIC);
  const commits: Position[] = [];
  const all = admin.readRange(OFFSETS_TOPIC, partition, 0, Number.MAX_SAFE_INTEGER);
  for await (const { key, value } of all) {
    const name = key && commitKey(key);
    if (name && name.groupId === groupId && value)
      commits.push({ partition: name.partition, offset: Number(value.readBigInt64BE(2)) });
  }
  return commits;
}

export function regressionsOf(commits: readonly Position[]): Regression[] {
  const highest = new Map<number, number>();
  return commits.flatMap(({ partition, offset }) => {
    const from = highest.get(partition) ?? 0;
    highest.set(partition, Math.max(from, offset));
    return offset < from ? [{ partition, from, to: offset }] : [];
  });
}

/** Fields: version, group, topic, partition. */
function commitKey(key: Buffer): { groupId: string; partition: number } | undefined {
  if (key.readInt16BE(0) > NEWEST_COMMIT_KEY) return undefined;
  const groupLength = key.readInt16BE(2);
  const topicAt = 4 + groupLength;
  const partitionAt = topicAt + 2 + key.readInt16BE(topicAt);
  return {
    groupId: key.toString('utf8', 4, topicAt),
    partition: key.readInt32BE(partitionAt),
  };
}

function javaHashCode(text: string): number {
  let hash = 0;
  for (const unit of text) hash = (Math.imul(hash, 31) + unit.charCodeAt(0)) | 0;
  return hash;
}
