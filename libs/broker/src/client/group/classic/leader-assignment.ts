import {
  assignorNamed,
  encodePlan,
  readGroupMembers,
  subscribedTopics,
} from '../../../assignment/index.js';
import type { DriverLogger } from '../../../port/driver.js';
import { within } from '../../../runtime/index.js';
import { RequestTimeoutError } from '../../../port/errors.js';
import type { JoinResponse, ClusterClient } from '../../../wire/index.js';
import { partitionCounts } from '../topics/partition-counts.js';

export interface LeaderAssignment {
  /** Topics to which at least one member subscribes. */
  readonly topics: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
  readonly shares: readonly { readonly memberId: string; readonly assignment: Buffer }[];
}

/** Assigns the partitions of the whole group to its members. */
export async function assignAsLeader(
  cluster: ClusterClient,
  answer: JoinResponse,
  lookupTimeoutMs: number,
  logger: DriverLogger,
): Promise<LeaderAssignment> {
  const { members, unreadable } = readGroupMembers(
    answer.members.map(({ memberId, groupInstanceId, memberMetadata }) => ({
      memberId,
      instanceId: groupInstanceId,
      metadata: memberMetadata,
    })),
  );
  for (const { memberId, error } of unreadable)
    logger.warn('A member of the group sent an unreadable subscription and gets no partitions.', {
      memberId,
      error,
    });
  const topics = subscribedTopics(members);
  await refreshTopics(cluster, topics, lookupTimeoutMs, logger);
  const counts = partitionCounts(cluster.metadata, topics);
  const plan = assignorNamed(answer.groupProtocol).assign({ members, partitionsOf: counts });
  const shares = [...encodePlan(plan)].map(([memberId, assignment]) => ({ memberId, assignment }));
  return { topics, counts, shares };
}

/**
 * Refreshes the metadata of the topics if possible. The whole group waits for the leader, so older
 * metadata are used if they contain every topic.
 */
async function refreshTopics(
  cluster: ClusterClient,
  topics: readonly string[],
  timeoutMs: number,
  logger: DriverLogger,
): Promise<void> {
  const timeoutError = (): Error =>
    new RequestTimeoutError(
      `The metadata of the group's topics were not received within ${timeoutMs} ms. Check that the brokers can be reached.`,
    );
  try {
    await within(cluster.runtime, timeoutMs, cluster.metadata.refresh(topics), timeoutError);
  } catch (error) {
    if (topics.some((topic) => cluster.metadata.topic(topic) === undefined)) throw error;
    logger.warn('The group leader assigns partitions with older metadata.', { error });
  }
}
