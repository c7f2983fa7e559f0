import type { ReadRangeOptions } from '../../../port/admin.js';
import { InvalidOptionError, UnknownPartitionError } from '../../../port/errors.js';
import type { BrokerRecord, TopicPartition } from '../../../port/record.js';
import { RecordBatchReader } from '../../../records/index.js';
import type { AbortedTransaction } from '../../broker/log/partition-log.js';
import type { StoredBatch } from '../../broker/log/stored-batch.js';
import type { Connection } from '../connection.js';
import { AdminRequests } from './admin-requests.js';

export interface Range extends TopicPartition, ReadRangeOptions {
  readonly from: number;
  readonly to: number;
}

interface LogChunk {
  readonly batches: readonly StoredBatch[];
  readonly aborted: readonly AbortedTransaction[];
}

const BYTES_PER_CHUNK = 1024 * 1024;

/** Reads the log as it is at the start of the call, chunk by chunk, and never waits for more. */
export async function* readRange(
  connection: Connection,
  { topic, partition, from, to, signal, isolation = 'read_committed' }: Range,
  closing: AbortSignal,
): AsyncGenerator<BrokerRecord, void> {
  checkRange(from, to);
  signal?.throwIfAborted();
  const ending = signal ? AbortSignal.any([signal, closing]) : closing;
  const calls = new AdminRequests(connection, ending);
  const where = { topic, partition };
  const bounds = await findBounds(calls, where, isolation === 'read_committed');
  const end = Math.min(to, bounds.end);
  let position = Math.max(from, bounds.low);
  while (position < end) {
    const { batches, aborted } = await readChunk(calls, where, position, end);
    if (batches.length === 0) return;
    const reader = new RecordBatchReader(Buffer.concat(batches.map(({ bytes }) => bytes)), {
      topic,
      partition,
      fetchOffset: position,
      isolation,
      abortedTransactions: aborted.map((each) => ({
        ...each,
        producerId: BigInt(each.producerId),
      })),
    });
    while (!reader.done) {
      for (const record of reader.next(500)) {
        ending.throwIfAborted();
        if (record.offset >= end) return;
        yield record;
      }
    }
    position = Math.max(reader.position, (batches.at(-1)?.lastOffset ?? position) + 1);
  }
}

function checkRange(from: number, to: number): void {
  for (const offset of [from, to])
    if (!(offset >= 0) || (Number.isFinite(offset) && !Number.isSafeInteger(offset)))
      throw new InvalidOptionError(
        `readRange requires integer offsets of 0 or more; got ${from} and ${to}.`,
      );
}

function findBounds(
  calls: AdminRequests,
  where: TopicPartition,
  committedOnly: boolean,
): Promise<{ readonly low: number; readonly end: number }> {
  const { topic } = where;
  return calls.run(
    { operation: 'list-offsets', partitions: [where] },
    ({ topics }) => {
      if (topics.find(topic) && !topics.find(topic)?.partitions[where.partition])
        throw new UnknownPartitionError(where);
      const { low, high, lastStable } = topics.partitionAtLeader(where).log;
      return { low, end: committedOnly ? lastStable : high };
    },
    { topic },
  );
}

function readChunk(
  calls: AdminRequests,
  where: TopicPartition,
  position: number,
  end: number,
): Promise<LogChunk> {
  return calls.run(
    { operation: 'fetch', partitions: [where] },
    ({ topics, network }) => {
      const { log } = topics.partitionAtLeader(where);
      const batches = log.read(Math.max(position, log.low), BYTES_PER_CHUNK, end, true);
      for (const { bytes } of batches) network.countWork(bytes.length);
      const to = (batches.at(-1)?.lastOffset ?? position) + 1;
      return { batches, aborted: log.abortedBetween(position, to) };
    },
    { topic: where.topic },
  );
}
