import type { OffsetAtTime, Watermarks } from '../../../port/admin.js';
import { UnknownPartitionError } from '../../../port/errors.js';
import type { MemoryCluster } from '../../broker/memory-cluster.js';
import type { Partition } from '../../broker/log/partition.js';
import { Refusal } from '../../broker/faults/refusal.js';
import { firstAtOrAfter } from '../../broker/log/timestamp-lookup.js';
import type { AdminRequests } from './admin-requests.js';

export interface DeleteBefore {
  readonly partition: number;
  readonly offset: number;
}

export class LogAdmin {
  constructor(private readonly calls: AdminRequests) {}

  watermarks(topic: string): Promise<readonly Watermarks[]> {
    return this.#each(topic, ({ index, log }) => ({
      partition: index,
      low: log.low,
      high: log.high,
    }));
  }

  offsetsAt(topic: string, timestamp: number): Promise<readonly OffsetAtTime[]> {
    return this.#each(topic, ({ index, log }) => {
      const found = firstAtOrAfter(log, timestamp);
      return {
        partition: index,
        offset: found?.offset ?? null,
        timestamp: found?.timestamp ?? null,
      };
    });
  }

  /** Checks all partitions before changing any. */
  deleteRecords(
    topic: string,
    before: readonly DeleteBefore[],
  ): Promise<readonly { readonly partition: number; readonly low: number }[]> {
    const partitions = before.map(({ partition }) => ({ topic, partition }));
    return this.calls.run(
      { operation: 'delete-records', partitions },
      (cluster) => {
        const found = before.map((each) => ({
          ...each,
          source: partitionAtLeader(cluster, topic, each),
        }));
        for (const { source, offset } of found) checkRange(source, offset);
        return found.map(({ source, partition, offset }) => {
          source.log.deleteBefore(offset === -1 ? source.log.high : offset);
          source.notifyWatchers();
          return { partition, low: source.log.low };
        });
      },
      { topic },
    );
  }

  #each<T>(topic: string, look: (partition: Partition) => T): Promise<readonly T[]> {
    const partitions = [{ topic, partition: -1 }];
    return this.calls.run(
      { operation: 'list-offsets', partitions },
      ({ topics }) =>
        topics
          .get(topic)
          .partitions.map(({ index }) =>
            look(topics.partitionAtLeader({ topic, partition: index })),
          ),
      { topic },
    );
  }
}

function partitionAtLeader(
  { topics }: MemoryCluster,
  topic: string,
  { partition }: DeleteBefore,
): Partition {
  if (!topics.get(topic).partitions[partition])
    throw new UnknownPartitionError({ topic, partition });
  return topics.partitionAtLeader({ topic, partition });
}

function checkRange({ log, topic, index }: Partition, offset: number): void {
  if (offset === -1 || (Number.isSafeInteger(offset) && offset >= 0 && offset <= log.high)) return;
  throw new Refusal(
    'OFFSET_OUT_OF_RANGE',
    `records of ${topic}-${index} can be deleted before an offset up to ${log.high}, not before ${offset}`,
  );
}
