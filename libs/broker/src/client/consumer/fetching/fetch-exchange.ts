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

/** The ways a broker can be asked; each has a connection of its own, for a broker answers a connection in order. */
export type FetchMode = 'long' | 'side' | 'quick';

export interface PartitionFetch {
  readonly partition: OwnedPartition;
  readonly positionVersion: number;
  readonly offset: number;
}

export interface FetchLimits {
  /** Of the answer; they were taken from the share. */
  readonly bytes: number;
  readonly maxWaitMs: number;
}

export interface FetchExchangeOptions extends FetcherOptions {
  readonly errors: FetchErrorHandler;
  readonly closed: AbortSignal;
  findLeader(partition: OwnedPartition): void;
  /** There is room again for what else is wanted. */
  onMemoryReleased(): void;
}

export const fetchChannel = (mode: FetchMode, sessionId: string): string =>
  mode === 'quick' ? CONTROL_CHANNEL : `fetch-${mode}:${sessionId}`;

/** One request to a broker, and what its answer means for each partition that it asked about. */
export class FetchExchange {
  readonly #chunks = new RecordChunks();
  readonly #headerNames = new HeaderNameCache();

  constructor(private readonly options: FetchExchangeOptions) {}

  /** Gives back the bytes that were taken for it. Rejects when the request as a whole has failed. */
  async run(
    node: number,
    mode: FetchMode,
    fetches: readonly PartitionFetch[],
    { bytes, maxWaitMs }: FetchLimits,
  ): Promise<void> {
    const { cluster, sessionId, fetch, share, closed, errors } = this.options;
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
    errors.requestSucceeded(node);
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
      if (!fetched) this.options.errors.backOffBriefly(partitionFetch.partition);
      else if (fetched.code === 0) this.#accept(partitionFetch, fetched, memory);
      else this.options.errors.partitionFailed(partitionFetch.partition, fetched.code);
    }
    memory.seal();
    if (memory.parts > 0) this.options.callbacks.onRecords();
  }

  #accept(
    { partition, offset }: PartitionFetch,
    fetched: FetchedPartition,
    memory: ResponseMemory,
  ): void {
    const { records } = fetched;
    this.options.errors.partitionSucceeded(partition);
    this.options.callbacks.onProgress(partition);
    if (fetched.preferredReplica >= 0) return this.#useReplica(fetched.preferredReplica, partition);
    if (!records || records.length === 0) {
      partition.lastEmptyOffset = offset;
      return;
    }
    const { isolation, fetch } = this.options;
    const end = endOfBatches(records, offset);
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
      release: memory.addPart(),
    });
    // Reading them will tell the trouble.
    if (end <= offset) this.options.errors.backOffBriefly(partition);
  }

  #useReplica(replica: number, partition: OwnedPartition): void {
    const { metadata, runtime } = this.options.cluster;
    if (metadata.brokers.has(replica))
      return partition.preferredReplica.use(replica, runtime.monotonic());
    this.options.errors.backOffBriefly(partition);
    this.options.findLeader(partition);
  }

  /** One that must not be sent away is asked for without a word about where we are. */
  #rackFor(fetches: readonly PartitionFetch[]): string | undefined {
    const now = this.options.cluster.runtime.monotonic();
    const mayUseReplicas = fetches.every(({ partition }) =>
      partition.preferredReplica.isAllowed(now),
    );
    return mayUseReplicas ? this.options.rackId : undefined;
  }
}
