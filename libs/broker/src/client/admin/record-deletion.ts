import { ConnectionError, UnknownPartitionError } from '../../port/errors.js';
import { deleteRecordsRequest, errorOfCode, type DeletedRecords } from '../../wire/index.js';
import { Again, againAfter, isLostContact, type AdminCall } from './admin-call.js';
import { knownTopic } from './known-topic.js';
import { OFFSET_OR_END, requireWhole } from './whole-number.js';

export interface DeleteBefore {
  readonly partition: number;
  /** -1 is the end of the log. */
  readonly offset: number;
}

export interface NewLow {
  readonly partition: number;
  readonly low: number;
}

/** What a broker says that does not host the partition any more; whether the topic is gone, metadata tells. */
const NOT_HOSTED = 3;

/** Asks the leaders, and whoever leads after them, until each partition has its answer. */
export async function deleteRecords(
  call: AdminCall,
  topic: string,
  before: readonly DeleteBefore[],
): Promise<readonly NewLow[]> {
  for (const { partition, offset } of before)
    requireWhole(`The offset for partition ${partition} of "${topic}"`, offset, OFFSET_OR_END);
  const lows = new Map<number, number>();
  await call.repeat(async () => {
    const { partitions } = await knownTopic(call, topic);
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
): Promise<Again | undefined> {
  let again: Again | undefined;
  const byLeader = new Map<number, DeleteBefore[]>();
  for (const each of open) {
    const leader = call.cluster.metadata.leader(topic, each.partition);
    if (leader === undefined) again = new Again(leaderless(topic, each.partition));
    else byLeader.set(leader, [...(byLeader.get(leader) ?? []), each]);
  }
  await Promise.all(
    [...byLeader].map(async ([leader, those]) => {
      const asked = those.map((each) => ({ topic, ...each }));
      try {
        const request = deleteRecordsRequest(asked, call.remainingMs);
        for (const answer of await call.request(leader, request))
          again = takeAnswer(answer, lows) ?? again;
      } catch (error) {
        if (!isLostContact(error)) throw error;
        again = new Again(error);
      }
    }),
  );
  return again;
}

function takeAnswer(answer: DeletedRecords, lows: Map<number, number>): Again | undefined {
  const { topic, partition, code, low } = answer;
  if (code === 0) {
    lows.set(partition, low);
    return undefined;
  }
  const error = errorOfCode(code, `Deleting records of partition ${partition} of "${topic}"`);
  return code === NOT_HOSTED ? new Again(error) : againAfter(code, error);
}

function leaderless(topic: string, partition: number): ConnectionError {
  return new ConnectionError(
    `Partition ${partition} of "${topic}" has no leader at the moment. Look whether its brokers are up.`,
  );
}
