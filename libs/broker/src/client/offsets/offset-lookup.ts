import { UnknownTopicError, type BrokerError } from '../../port/errors.js';
import type { Isolation } from '../../port/consumer.js';
import type { TopicPartition } from '../../port/record.js';
import { Backoff, sleep } from '../../runtime/index.js';
import {
  CONTROL_LANE,
  errorOfCode,
  listOffsetsRequest,
  reactionTo,
  type Cluster,
  type ListedOffset,
} from '../../wire/index.js';

export interface OffsetQuestion extends TopicPartition {
  /** A time, or LATEST or EARLIEST. */
  readonly timestamp: number;
}

/** What a lookup needs of the cluster. */
export type LookupCluster = Pick<Cluster, 'request' | 'metadata' | 'runtime'>;

export interface OffsetLookupOptions {
  readonly isolation: Isolation;
  readonly signal?: AbortSignal;
  /** Told of each round that could not be completed. */
  onTrouble?(error: Error): void;
}

const BACKOFF = { initialMs: 50, maxMs: 2_000 };

/**
 * Asks the leaders for offsets, until each has answered: leaders that moved, are being elected or
 * cannot be reached are asked again. Rejects on what waiting cannot mend, and with the signal.
 */
export async function lookUpOffsets(
  cluster: LookupCluster,
  questions: readonly OffsetQuestion[],
  options: OffsetLookupOptions,
): Promise<readonly ListedOffset[]> {
  const backoff = new Backoff(cluster.runtime, BACKOFF);
  const answers: ListedOffset[] = [];
  let open = questions;
  for (;;) {
    const round = await askLeaders(cluster, open, options);
    answers.push(...round.answers);
    open = round.open;
    if (open.length === 0) return answers;
    if (round.trouble) options.onTrouble?.(round.trouble);
    await sleep(cluster.runtime, backoff.next(), options.signal);
    await cluster.metadata
      .refresh([...new Set(open.map(({ topic }) => topic))])
      .catch((error: unknown) => options.onTrouble?.(error as Error));
  }
}

interface Round {
  readonly answers: ListedOffset[];
  readonly open: OffsetQuestion[];
  trouble: Error | undefined;
}

async function askLeaders(
  cluster: LookupCluster,
  questions: readonly OffsetQuestion[],
  { isolation, signal }: OffsetLookupOptions,
): Promise<Round> {
  const round: Round = { answers: [], open: [], trouble: undefined };
  const byLeader = new Map<number, OffsetQuestion[]>();
  for (const question of questions) {
    const leader = cluster.metadata.leader(question.topic, question.partition);
    if (leader === undefined) {
      round.open.push(question);
      round.trouble ??= new UnknownTopicError(
        question.topic,
        `Partition ${question.partition} of "${question.topic}" has no leader, or does not exist.`,
      );
    } else byLeader.set(leader, [...(byLeader.get(leader) ?? []), question]);
  }
  await Promise.all(
    [...byLeader].map(async ([leader, those]) => {
      try {
        const listed = await cluster.request(
          leader,
          CONTROL_LANE,
          listOffsetsRequest(isolation, those),
          signal ? { signal } : {},
        );
        sortAnswers(round, those, listed);
      } catch (error) {
        if (signal?.aborted || !(error as BrokerError).retriable) throw error;
        round.open.push(...those);
        round.trouble = error as Error;
      }
    }),
  );
  return round;
}

function sortAnswers(
  round: Round,
  questions: readonly OffsetQuestion[],
  listed: readonly ListedOffset[],
): void {
  for (const question of questions) {
    const answer = listed.find(
      ({ topic, partition }) => topic === question.topic && partition === question.partition,
    );
    const code = answer?.code ?? -1;
    if (answer && code === 0) {
      round.answers.push(answer);
      continue;
    }
    const error = errorOfCode(
      code,
      `Asking for offsets of partition ${question.partition} of "${question.topic}"`,
    );
    if (reactionTo('listOffsets', code) === 'refuse') throw error;
    round.open.push(question);
    round.trouble = error;
  }
}
