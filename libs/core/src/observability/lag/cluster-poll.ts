import {
  AuthorizationError,
  type AdminSession,
  type BrokerRecord,
  type TopicDescription,
  type Watermarks,
} from '@nest-event-bus/broker';

/** What one poll asks a cluster for. */
export interface PollRequest {
  readonly topics: readonly string[];
  /** Topics that the process may have no right to describe. */
  readonly optionalTopics: readonly string[];
  readonly groupIds: readonly string[];
}

export interface PolledTopic {
  readonly id: string | null;
  readonly watermarks: readonly Watermarks[];
}

/** Answers of a cluster. A topic that does not exist is missing. */
export interface PolledCluster {
  readonly topics: ReadonlyMap<string, PolledTopic>;
  /** Optional topics without the right to describe them. */
  readonly refused: ReadonlySet<string>;
  /** Committed offsets by group, and then by topic and partition. */
  readonly committed: ReadonlyMap<string, ReadonlyMap<string, number>>;
}

export type PollingAdmin = Pick<AdminSession, 'topics' | 'watermarks' | 'groupOffsets'>;

/** Requests that a poll has under way at the same time. */
const MOST_REQUESTS = 4;

/**
 * Asks for the watermarks of topics and the offsets of groups, each once. The first request fails
 * alone if the cluster does not answer.
 */
export async function pollCluster(
  admin: PollingAdmin,
  { groupIds, ...asked }: PollRequest,
): Promise<PolledCluster> {
  const { found, refused } = await describeTopics(admin, asked);
  // The committed offsets are asked for first, so that none is ahead of the watermarks.
  const committed = await mapInParallel(groupIds, async (groupId) => {
    const offsets = await admin.groupOffsets(groupId);
    return [
      groupId,
      new Map(offsets.map(({ offset, ...each }) => [partitionKey(each), offset])),
    ] as const;
  });
  const watermarks = await mapInParallel(
    found,
    async ({ name, id }) => [name, { id, watermarks: await admin.watermarks(name) }] as const,
  );
  return { topics: new Map(watermarks), committed: new Map(committed), refused };
}

/** Asks for all topics at once, and for each optional topic alone if one of them is refused. */
async function describeTopics(
  admin: Pick<PollingAdmin, 'topics'>,
  { topics, optionalTopics }: Omit<PollRequest, 'groupIds'>,
): Promise<{
  readonly found: readonly TopicDescription[];
  readonly refused: ReadonlySet<string>;
}> {
  const refused = new Set<string>();
  try {
    return { found: await admin.topics([...new Set([...topics, ...optionalTopics])]), refused };
  } catch (error) {
    if (!(error instanceof AuthorizationError)) throw error;
  }
  const found = await admin.topics(topics);
  const others = optionalTopics.filter((topic) => !topics.includes(topic));
  const optional = await mapInParallel(others, async (topic) => {
    try {
      return await admin.topics([topic]);
    } catch (error) {
      if (!(error instanceof AuthorizationError)) throw error;
      refused.add(topic);
      return [];
    }
  });
  return { found: [...found, ...optional.flat()], refused };
}

export const partitionKey = ({
  topic,
  partition,
}: {
  readonly topic: string;
  readonly partition: number;
}): string => `${topic} ${partition}`;

/** Returns the timestamp of the first record from this offset on; undefined if there is none. */
export async function timestampAt(
  admin: Pick<AdminSession, 'readRange'>,
  { topic, partition, offset }: Pick<BrokerRecord, 'topic' | 'partition' | 'offset'>,
): Promise<number | undefined> {
  for await (const { timestamp } of admin.readRange(topic, partition, offset, offset + GAP))
    return timestamp;
  return undefined;
}

/** Offsets that may be missing, by compaction or as markers of transactions. */
const GAP = 1_000;

async function mapInParallel<From, To>(
  all: readonly From[],
  map: (each: From) => Promise<To>,
): Promise<readonly To[]> {
  const results: To[] = [];
  const left = [...all];
  const work = async (): Promise<void> => {
    for (let each = left.shift(); each !== undefined; each = left.shift())
      results.push(await map(each));
  };
  await Promise.all(Array.from({ length: MOST_REQUESTS }, work));
  return results;
}
