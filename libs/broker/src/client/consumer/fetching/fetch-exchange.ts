import {
  HeaderNameCache,
  RecordBatchReader,
  RecordChunks,
  endOfBatches,
} from '../../../records/index.js';
import {
  CONTROL_CHANNEL,
  errorOfCode,
  fetchRequest,
  type FetchResponse,
  type FetchedPartition,
} from '../../../wire/index.js';
import { ResponseMemory } from './response-memory.js';
import type { FetcherOptions } from './fetcher.js';
import type { FetchErrorHandler } from './fetch-error-handler.js';
import type { OwnedPartition } from './owned-partition.js';

/**
 * Ways to fetch from a broker. `long` and `side` each have a connection, because a broker answers
 * the requests of a connection in order. `quick` uses the shared control connection.
 */
export type FetchMode = 'long' | 'side' | 'quick';

export interface PartitionFetch {
  readonly partition: OwnedPartition;
  readonly positionVersion: number;
  readonly offset: number;
}

export interface FetchLimits {
  /** The size of the response. So many bytes were reserved in the budget share. */
  readonly bytes: number;
  readonly maxWaitMs: number;
}

export interface FetchExchangeOptions extends FetcherOptions {
  readonly errorHandler: FetchErrorHandler;
  readonly closed: AbortSignal;
  findLeader(partition: OwnedPartition): void;
  /** Called when memory was released and other fetches may use it. */
  onMemoryReleased(): void;
}

export const fetchChannel = (mode: FetchMode, sessionId: string): string =>
  mode === 'quick' ? CONTROL_CHANNEL : `fetch-${mode}:${sessionId}`;

/** Sends one Fetch request and applies its response to each partition of the request. */
export class FetchExchange {
  readonly #chunks = new RecordChunks();
  readonly #headerNames = new HeaderNameCache();

  constructor(private readonly options: FetchExchangeOptions) {}

  /**
   * Runs the fetch and gives the reserved bytes back to the budget. Rejects if the request as a
   * whole fails.
   */
  async run(
    node: number,
    mode: FetchMode,
    fetches: readonly PartitionFetch[],
    { bytes, maxWaitMs }: FetchLimits,
  ): Promise<void> {
    const { cluster, sessionId, fetch, share, closed, errorHandler } = this.options;
    let answer: FetchResponse;
    try {
      answer = await cluster.request(
        node,
        fetchChannel(mode, sessionId),
        fetchRequest({
          maxWaitMs,
          minBytes: fetch.minBytes,
          maxBytes: bytes,
          isolation: this.options.isolation,
          rackId: this.#rackFor(fetches),
          partitions: fetches.map(({ partition, offset }) => ({
            topic: partition.topic,
            topicId: partition.topicId,
            partition: partition.partition,
            offset,
            leaderEpoch: cluster.metadata.leaderEpoch(partition.topic, partition.partition),
            maxBytes: Math.min(fetch.maxPartitionBytes, bytes),
          })),
        }),
        { timeoutMs: maxWaitMs + cluster.requestTimeoutMs, signal: closed },
      );
    } finally {
      share.giveBack(bytes);
    }
    if (answer.code !== 0) throw errorOfCode(answer.code, `Fetching from broker ${node}`);
    errorHandler.requestSucceeded(node);
    this.#apply(fetches, answer);
  }

  #apply(fetches: readonly PartitionFetch[], answer: FetchResponse): void {
    const memory = new ResponseMemory(answer, this.options.share, () =>
      this.options.onMemoryReleased(),
    );
    for (const partitionFetch of fetches) {
      const { topic, partition } = partitionFetch.partition;
      const fetched = answer.partitions.find(
        (candidate) => candidate.partition === partition && candidate.topic === topic,
      );
      if (partitionFetch.partition.positionVersion !== partitionFetch.positionVersion) continue;
      if (!fetched) this.options.errorHandler.backOffBriefly(partitionFetch.partition);
      else if (fetched.code === 0) this.#accept(partitionFetch, fetched, memory);
      else this.options.errorHandler.partitionFailed(partitionFetch.partition, fetched.code);
    }
    memory.release();
    if (memory.parts > 0) this.options.callbacks.onRecords();
  }

  #accept(
    { partition, offset }: PartitionFetch,
    fetched: FetchedPartition,
    memory: ResponseMemory,
  ): void {
    const { records } = fetched;
    this.options.errorHandler.partitionSucceeded(partition);
    this.options.callbacks.onProgress(partition);
    if (fetched.preferredReplica >= 0) return this.#useReplica(fetched.preferredReplica, partition);
    if (!records || records.length === 0) {
      partition.lastEmptyOffset = offset;
      return;
    }
    const { isolation, fetch } = this.options;
    const end = endOfBatches(records, offset);
    memory.addPart();
    partition.addChunk({
      reader: new RecordBatchReader(records, {
        topic: partition.topic,
        partition: partition.partition,
        fetchOffset: offset,
        isolation,
        abortedTransactions: fetched.aborted,
        checkCrc: fetch.checkCrc,
        maxInflatedBytes: fetch.maxInflatedBytes,
        chunks: this.#chunks,
        headerNames: this.#headerNames,
      }),
      end,
      release: memory.release,
    });
    // Without a complete batch after the offset, the next fetch would return the same bytes, so the
    // partition waits. RecordBatchReader reports the incomplete batch at the next poll.
    if (end <= offset) this.options.errorHandler.backOffBriefly(partition);
  }

  #useReplica(replica: number, partition: OwnedPartition): void {
    const { metadata, runtime } = this.options.cluster;
    if (metadata.brokers.has(replica))
      return partition.preferredReplica.use(replica, runtime.monotonic());
    this.options.errorHandler.backOffBriefly(partition);
    this.options.findLeader(partition);
  }

  /**
   * Returns the rack for the request, or undefined if one of the partitions must be read from its
   * leader: without a rack the leader does not name a replica.
   */
  #rackFor(fetches: readonly PartitionFetch[]): string | undefined {
    const now = this.options.cluster.runtime.monotonic();
    const mayUseReplicas = fetches.every(({ partition }) =>
      partition.preferredReplica.isAllowed(now),
    );
    return mayUseReplicas ? this.options.rackId : undefined;
  }
}
