import type { DriverLogger } from '../../../port/driver.js';
import { abortable } from '../../../runtime/index.js';
import type { MemberStatus } from '../member-status.js';
import { retryUrgencyAfter, type RetryUrgency } from '../retry-urgency.js';
import { missingTopicError, missingTopics } from './partition-counts.js';
import type { ClusterClient } from '../../../wire/index.js';

export interface TopicsUnavailable {
  readonly urgency: RetryUrgency;
  readonly error: Error;
}

export interface CheckTopicsOptions {
  readonly cluster: ClusterClient;
  readonly status: MemberStatus;
  readonly logger: DriverLogger;
}

/**
 * Checks the topics before a join. A member joins if at least one of its topics exists. Otherwise
 * it waits, because it would be assigned nothing.
 */
export async function checkTopicsExist(
  { cluster: { metadata }, status, logger }: CheckTopicsOptions,
  topics: readonly string[],
  signal: AbortSignal,
): Promise<TopicsUnavailable | undefined> {
  try {
    await abortable(metadata.load(topics), signal);
  } catch (error) {
    signal.throwIfAborted();
    return { urgency: retryUrgencyAfter(error), error: error as Error };
  }
  const missing = missingTopics(metadata, topics);
  const [first] = missing;
  if (first === undefined) return undefined;
  const error = missingTopicError(metadata, first);
  if (missing.length === topics.length) return { urgency: 'soon', error };
  status.retrying(error);
  logger.warn('Some topics do not exist. The others are read meanwhile.', { missing });
  return undefined;
}
