import type { DriverLogger } from '../../port/driver.js';
import { abortable } from '../../runtime/index.js';
import type { GroupCluster } from './group-cluster.js';
import type { MemberStatus } from './member-status.js';
import { paceAfter, type Pace } from './retry-urgency.js';
import { missingTopicError, missingTopics } from './partition-counts.js';

export interface TopicsSetback {
  readonly pace: Pace;
  readonly error: Error;
}

export interface TopicsOptions {
  readonly cluster: GroupCluster;
  readonly status: MemberStatus;
  readonly logger: DriverLogger;
}

/** With some of its topics a member joins; without any it would be assigned nothing, so it waits. */
export async function topicsAreMissing(
  { cluster: { metadata }, status, logger }: TopicsOptions,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<TopicsSetback | undefined> {
  try {
    await abortable(metadata.load(topics), signal);
  } catch (error) {
    signal.throwIfAborted();
    return { pace: paceAfter(error), error: error as Error };
  }
  const missing = missingTopics(metadata, topics);
  const [first] = missing;
  if (first === undefined) return undefined;
  const error = missingTopicError(metadata, first);
  if (missing.length === topics.length) return { pace: 'soon', error };
  status.retrying(error);
  logger.warn('Some topics do not exist; the others are read until they do.', { missing });
  return undefined;
}
