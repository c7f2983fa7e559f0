import { ConnectionError, UnknownPartitionError } from '../../port/errors.js';
import { deleteRecordsRequest, errorOfCode, type DeletedRecords } from '../../wire/index.js';
import { Retry, retryOrThrow, isConnectionLost, type AdminCall } from './admin-call.js';
import { requireTopic } from './require-topic.js';
import { OFFSET_OR_END, requireWholeNumber } from './require-whole-number.js';

export interface DeleteBefore {
  readonly partition: number;
  /** The offset before which records are deleted; -1 means the end of the log. */
  readonly offset: number;
}

export interface NewLowWatermark {
  readonly partition: number;
  readonly low: number;
}

/**
 * A broker answers this code if it does not host the partition. The metadata show whether the topic
 * still exists.
 */
const UNKNOWN_TOPIC_OR_PARTITION = 3;

/**
 * Asks the leaders until each partition has a result. After an election the new leader is asked.
 */
export async function deleteRecords(
  call: AdminCall,
  topic: string,
  before: readonly DeleteBefore[],
): Promise<readonly NewLowWatermark[]> {
  for (const { partition, offset } of before)
    requireWholeNumber(
      `The offset for partition ${partition} of "${topic}"`,
      offset,
      OFFSET_OR_END,
    );
  const lows = new Map<number, number>();
  await call.repeat(async () => {
    const { partitions } = await requireTopic(call, topic);
    for (const { partition } of before)
      if (!partitions.some((known) => known.partition === partition))
        throw new UnknownPartitionError({ topic, partition });
    const open = before.filter(({ partition }) => !lows.has(partition));
    return askLeaders(call, topic, open, lows);
  });
  return before.map(({ partition }) => ({ partition, low: lows.get(partition) ?? -1 }));
}

async function askLeaders(
  call: AdminCall,
  topic: string,
  open: readonly DeleteBefore[],
  lows: Map<number, number>,
): Promise<Retry | undefined> {
  let again: Retry | undefined;
  const byLeader = new Map<number, DeleteBefore[]>();
  for (const each of open) {
    const leader = call.cluster.metadata.leader(topic, each.partition);
    if (leader === undefined) again = new Retry(leaderless(topic, each.partition));
    else byLeader.set(leader, [...(byLeader.get(leader) ?? []), each]);
  }
  await Promise.all(
    [...byLeader].map(async ([leader, targets]) => {
      const asked = targets.map((each) => ({ topic, ...each }));
      try {
        const request = deleteRecordsRequest(asked, call.remainingMs);
        for (const answer of await call.request(leader, request))
          again = applyAnswer(answer, lows) ?? again;
      } catch (error) {
        if (!isConnectionLost(error)) throw error;
        again = new Retry(error);
      }
    }),
  );
  return again;
}

function applyAnswer(answer: DeletedRecords, lows: Map<number, number>): Retry | undefined {
  const { topic, partition, code, low } = answer;
  if (code === 0) {
    lows.set(partition, low);
    return undefined;
  }
  const error = errorOfCode(code, `Deleting records of partition ${partition} of "${topic}"`);
  return code === UNKNOWN_TOPIC_OR_PARTITION ? new Retry(error) : retryOrThrow(code, error);
}

function leaderless(topic: string, partition: number): ConnectionError {
  return new ConnectionError(
    `Partition ${partition} of "${topic}" has no leader at the moment. Check whether its brokers are running.`,
  );
}
