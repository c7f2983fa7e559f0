import { UnknownTopicError, type BrokerError } from '../../port/errors.js';
import type { Isolation } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';
import { Backoff, sleep } from '../../runtime/index.js';
import {
  CONTROL_CHANNEL,
  errorOfCode,
  listOffsetsRequest,
  reactionTo,
  type ListedOffset,
  type ClusterClient,
} from '../../wire/index.js';

export interface OffsetQuery extends TopicPartition {
  /** A timestamp in ms, or LATEST or EARLIEST. */
  readonly timestamp: number;
}

export interface OffsetLookupOptions {
  readonly isolation: Isolation;
  readonly signal?: AbortSignal;
  /** Called after each attempt in which some queries got no answer. */
  onError?(error: Error): void;
}

const BACKOFF = { initialMs: 50, maxMs: 2_000 };

/**
 * Asks the leaders for offsets until each query is answered. If the leader of a partition changes,
 * is being elected or cannot be reached, the partition is asked again. Rejects on errors that a
 * retry does not resolve, and when the signal aborts.
 */
export async function lookUpOffsets(
  cluster: ClusterClient,
  queries: readonly OffsetQuery[],
  options: OffsetLookupOptions,
): Promise<readonly ListedOffset[]> {
  const backoff = new Backoff(cluster.runtime, BACKOFF);
  const answers: ListedOffset[] = [];
  let unanswered = queries;
  for (;;) {
    const attempt = await askLeaders(cluster, unanswered, options);
    answers.push(...attempt.answers);
    unanswered = attempt.unanswered;
    if (unanswered.length === 0) return answers;
    if (attempt.error) options.onError?.(attempt.error);
    await sleep(cluster.runtime, backoff.next(), options.signal);
    await cluster.metadata
      .refresh([...new Set(unanswered.map(({ topic }) => topic))])
      .catch((error: unknown) => options.onError?.(error as Error));
  }
}

interface LookupAttempt {
  readonly answers: ListedOffset[];
  readonly unanswered: OffsetQuery[];
  error: Error | undefined;
}

async function askLeaders(
  cluster: ClusterClient,
  queries: readonly OffsetQuery[],
  { isolation, signal }: OffsetLookupOptions,
): Promise<LookupAttempt> {
  const attempt: LookupAttempt = { answers: [], unanswered: [], error: undefined };
  const byLeader = new Map<number, OffsetQuery[]>();
  for (const query of queries) {
    const leader = cluster.metadata.leader(query.topic, query.partition);
    if (leader === undefined) {
      attempt.unanswered.push(query);
      attempt.error ??= new UnknownTopicError(
        query.topic,
        `Partition ${query.partition} of "${query.topic}" has no leader, or does not exist. It is looked up again; check the brokers of the partition.`,
      );
    } else byLeader.set(leader, [...(byLeader.get(leader) ?? []), query]);
  }
  await Promise.all(
    [...byLeader].map(async ([leader, leaderQueries]) => {
      try {
        const listed = await cluster.request(
          leader,
          CONTROL_CHANNEL,
          listOffsetsRequest(isolation, leaderQueries),
          signal ? { signal } : {},
        );
        sortAnswers(attempt, leaderQueries, listed);
      } catch (error) {
        if (signal?.aborted || !(error as BrokerError).retriable) throw error;
        attempt.unanswered.push(...leaderQueries);
        attempt.error = error as Error;
      }
    }),
  );
  return attempt;
}

function sortAnswers(
  attempt: LookupAttempt,
  queries: readonly OffsetQuery[],
  listed: readonly ListedOffset[],
): void {
  for (const query of queries) {
    const answer = listed.find(
      ({ topic, partition }) => topic === query.topic && partition === query.partition,
    );
    const code = answer?.code ?? -1;
    if (answer && code === 0) {
      attempt.answers.push(answer);
      continue;
    }
    const error = errorOfCode(
      code,
      `Asking for offsets of partition ${query.partition} of "${query.topic}"`,
    );
    if (reactionTo('listOffsets', code) === 'refuse') throw error;
    attempt.unanswered.push(query);
    attempt.error = error;
  }
}
