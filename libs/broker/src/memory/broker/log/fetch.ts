import type { Isolation } from '../../../port/consumer.js';
import type { TopicPartition } from '../../../port/record.js';
import { Deferred, type Runtime } from '../../../runtime/index.js';
import type { Partition } from './partition.js';
import type { AbortedTransaction } from './partition-log.js';
import { isRefusal, Refusal } from '../faults/refusal.js';
import type { StoredBatch } from './stored-batch.js';
import type { Topics } from './topics.js';

export interface FetchPartition extends TopicPartition {
  readonly topicId: string;
  readonly offset: number;
  /** The leader epoch of the last record that was read; -1 if no record was read. */
  readonly lastEpoch: number;
  readonly maxBytes: number;
}

export interface FetchRequest {
  readonly partitions: readonly FetchPartition[];
  readonly maxWaitMs: number;
  readonly minBytes: number;
  readonly maxBytes: number;
  readonly isolation: Isolation;
}

export type FetchedPartition = TopicPartition & { readonly offset: number } & (
    | { readonly kind: 'refused'; readonly refusal: Refusal }
    /** The log was truncated below the position of the reader. It is unchanged up to `end`. */
    | { readonly kind: 'diverged'; readonly end: number }
    | {
        readonly kind: 'read';
        readonly low: number;
        readonly high: number;
        readonly lastStable: number;
        readonly batches: readonly StoredBatch[];
        readonly aborted: readonly AbortedTransaction[];
      }
  );

/** Returns the error that a test has injected for this partition, or undefined. */
export type RefuseFetch = (partition: TopicPartition) => Refusal | undefined;

/**
 * Answers a fetch: at once if enough records are available, otherwise as soon as they are, or after
 * the maximum wait.
 */
export async function fetchRecords(
  { topics, runtime }: { readonly topics: Topics; readonly runtime: Runtime },
  request: FetchRequest,
  refuse: RefuseFetch,
  signal: AbortSignal,
): Promise<readonly FetchedPartition[]> {
  const deadline = runtime.monotonic() + request.maxWaitMs;
  let missing: number | undefined;
  for (;;) {
    const answer = readAll(topics, request, refuse);
    const missingNow = answer.filter(isMissing).length;
    const left = deadline - runtime.monotonic();
    if (left <= 0 || signal.aborted || hasEnoughToSend(answer, request.minBytes)) return answer;
    if (missingNow > (missing ?? missingNow)) return answer;
    missing = missingNow;
    await waitForChange(left, watchedPartitions(topics, request), runtime, signal);
  }
}

function readAll(
  topics: Topics,
  request: FetchRequest,
  refuse: RefuseFetch,
): readonly FetchedPartition[] {
  let left = request.maxBytes;
  return request.partitions.map((wanted) => {
    const { topic, partition, offset } = wanted;
    try {
      const ordered = refuse(wanted);
      if (ordered) throw ordered;
      checkTopicId(topics, wanted);
      const source = topics.partitionAtLeader(wanted);
      const end = divergenceEnd(source, wanted);
      if (end !== undefined) return { topic, partition, offset, kind: 'diverged', end };
      const first = left === request.maxBytes;
      const read = readOne(source, wanted, request.isolation, left, first);
      left = Math.max(0, left - sizeOf(read.batches));
      return { topic, partition, offset, kind: 'read', ...read };
    } catch (error) {
      if (!isRefusal(error)) throw error;
      return { topic, partition, offset, kind: 'refused', refusal: error };
    }
  });
}

/**
 * Reads one partition. The first batch of a response is returned completely, even if it exceeds the
 * limit. Otherwise it could never be read.
 */
function readOne(
  source: Partition,
  wanted: FetchPartition,
  isolation: Isolation,
  left: number,
  first: boolean,
) {
  const { low, high, lastStable } = source.log;
  if (wanted.offset < low || wanted.offset > high)
    throw new Refusal(
      'OFFSET_OUT_OF_RANGE',
      `offset ${wanted.offset} is not within ${low}..${high}`,
    );
  const end = isolation === 'read_committed' ? lastStable : high;
  const batches = source.log.read(wanted.offset, Math.min(wanted.maxBytes, left), end, first);
  const to = (batches.at(-1)?.lastOffset ?? wanted.offset - 1) + 1;
  const aborted =
    isolation === 'read_committed' ? source.log.abortedBetween(wanted.offset, to) : [];
  return { low, high, lastStable, batches, aborted };
}

function divergenceEnd(
  { log }: Partition,
  { lastEpoch, offset }: FetchPartition,
): number | undefined {
  const known = lastEpoch < 0 ? undefined : log.endOfEpoch(lastEpoch);
  return known && known.end < offset ? known.end : undefined;
}

function checkTopicId(topics: Topics, { topic, topicId }: FetchPartition): void {
  const found = topics.find(topic);
  if (found && found.id !== topicId)
    throw new Refusal('UNKNOWN_TOPIC_ID', `topic "${topic}" was deleted and created again`);
}

/**
 * Returns whether the partition does not exist. A partition that was missing at the start does not
 * end the wait; a partition that is deleted during the wait does.
 */
function isMissing(each: FetchedPartition): boolean {
  return each.kind === 'refused' && each.refusal.reason === 'UNKNOWN_TOPIC_OR_PARTITION';
}

function hasEnoughToSend(answer: readonly FetchedPartition[], minBytes: number): boolean {
  let bytes = 0;
  for (const each of answer) {
    if (each.kind === 'read') bytes += sizeOf(each.batches);
    else if (each.kind === 'diverged' || !isMissing(each)) return true;
  }
  return bytes >= minBytes;
}

function watchedPartitions(topics: Topics, { partitions }: FetchRequest): readonly Partition[] {
  return partitions.flatMap(
    ({ topic, partition }) => topics.find(topic)?.partitions[partition] ?? [],
  );
}

async function waitForChange(
  milliseconds: number,
  partitions: readonly Partition[],
  runtime: Runtime,
  signal: AbortSignal,
): Promise<void> {
  const news = new Deferred();
  const wake = (): void => news.resolve();
  const timer = runtime.setTimer(wake, milliseconds);
  const unwatch = partitions.map((partition) => partition.watch(wake));
  signal.addEventListener('abort', wake, { once: true });
  await news.promise;
  timer.cancel();
  signal.removeEventListener('abort', wake);
  for (const end of unwatch) end();
}

function sizeOf(batches: readonly StoredBatch[]): number {
  let bytes = 0;
  for (const batch of batches) bytes += batch.bytes.length;
  return bytes;
}
