import {
  assignorNamed,
  encodePlan,
  readGroupMembers,
  subscribedTopics,
} from '../../../assignment/index.js';
import type { DriverLogger } from '../../../port/driver.js';
import { within } from '../../../runtime/index.js';
import { RequestTimeoutError } from '../../../port/errors.js';
import type { JoinAnswer } from '../../../wire/index.js';
import type { GroupCluster } from '../group-cluster.js';
import { partitionCounts } from '../partition-counts.js';

export interface LeaderPlan {
  /** Everything that any member subscribes to. */
  readonly topics: readonly string[];
  readonly counts: ReadonlyMap<string, number>;
  readonly shares: readonly { readonly memberId: string; readonly assignment: Buffer }[];
}

/** Decides for the whole group who reads what. */
export async function planAsLeader(
  cluster: GroupCluster,
  answer: JoinAnswer,
  lookupTimeoutMs: number,
  logger: DriverLogger,
): Promise<LeaderPlan> {
  const { members, unreadable } = readGroupMembers(
    answer.members.map(({ memberId, groupInstanceId, memberMetadata }) => ({
      memberId,
      instanceId: groupInstanceId,
      metadata: memberMetadata,
    })),
  );
  for (const { memberId, error } of unreadable)
    logger.warn('A member of the group sent a subscription that cannot be read; it gets nothing.', {
      memberId,
      error,
    });
  const topics = subscribedTopics(members);
  await learnTopics(cluster, topics, lookupTimeoutMs, logger);
  const counts = partitionCounts(cluster.metadata, topics);
  const plan = assignorNamed(answer.groupProtocol).assign({ members, partitionsOf: counts });
  const shares = [...encodePlan(plan)].map(([memberId, assignment]) => ({ memberId, assignment }));
  return { topics, counts, shares };
}

/** Fresh where possible. The whole group waits: with an older picture of every topic it can go on. */
async function learnTopics(
  cluster: GroupCluster,
  topics: readonly string[],
  timeoutMs: number,
  logger: DriverLogger,
): Promise<void> {
  const tooLate = (): Error =>
    new RequestTimeoutError(`The topics of the group were not told within ${timeoutMs} ms.`);
  try {
    await within(cluster.runtime, timeoutMs, cluster.metadata.refresh(topics), tooLate);
  } catch (error) {
    if (topics.some((topic) => cluster.metadata.topic(topic) === undefined)) throw error;
    logger.warn('The leader plans with older metadata.', { error });
  }
}
