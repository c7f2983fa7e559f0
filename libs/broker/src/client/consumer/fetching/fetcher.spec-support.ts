import type { FetchOptions } from '../../../port/consumer.js';
import { RecordBatchWriter, placeBatch } from '../../../records/index.js';
import { Deferred, VirtualRuntime, abortable } from '../../../runtime/index.js';
import {
  ClusterFeatures,
  Metadata,
  type ApiRequest,
  type ClusterClient,
} from '../../../wire/index.js';
import type { EpochEnd, FetchResponse, FetchedPartition } from '../../../wire/index.js';
import { Reader } from '../../../wire/requests/reader.js';
import { Fetcher } from './fetcher.js';
import { OwnedPartitions } from '../assignment/owned-partitions.js';
import { PrefetchBudget } from './prefetch-budget.js';
import { FetchedRecords } from './fetched-records.js';

const FETCH: Required<FetchOptions> = {
  maxWaitMs: 5_000,
  minBytes: 1,
  maxBytes: 1024 * 1024,
  maxPartitionBytes: 1024 * 1024,
  checkCrc: true,
  maxInflatedBytes: 1024 * 1024,
};

/** A fetch under way, which the test answers instead of a broker. */
export class PendingFetch {
  readonly answered = new Deferred<FetchResponse>();

  constructor(
    readonly node: number,
    readonly channel: string,
    readonly maxWaitMs: number,
    readonly offsets: Readonly<Record<string, number>>,
    /** The partitions in the order of the request. */
    readonly order: readonly number[],
    /** The leader epochs of the request, by which the broker recognises outdated metadata. */
    readonly leaderEpochs: readonly number[],
    readonly rackId: string,
  ) {}

  answer(...partitions: Partial<FetchedPartition>[]): void {
    this.answered.resolve({
      code: 0,
      partitions: partitions.map((partition) => ({ ...emptyPartition, ...partition })),
    });
  }

  /** Answers like a broker without records after the maximum wait. */
  answerEmpty(): void {
    this.answer(...Object.keys(this.offsets).map((name) => ({ partition: Number(name) })));
  }
}

const emptyPartition: FetchedPartition = {
  topic: 'orders',
  partition: 0,
  code: 0,
  highWatermark: 0,
  lastStableOffset: 0,
  logStartOffset: 0,
  preferredReplica: -1,
  aborted: [],
  records: null,
};

/** Creates one batch with these values at the offset. */
export function batchAt(offset: number, ...values: string[]): Buffer {
  return batchOfEpoch(0, offset, ...values);
}

/** Creates one batch with these values at the offset, written by the leader of this epoch. */
export function batchOfEpoch(leaderEpoch: number, offset: number, ...values: string[]): Buffer {
  const writer = new RecordBatchWriter(1024);
  for (const value of values) writer.append({ key: null, value }, 1_000);
  const batch = writer.finish();
  placeBatch(batch, { baseOffset: offset, leaderEpoch });
  return batch;
}

const FETCH_KEY = 1;

/** An OffsetForLeaderEpoch query that a leader received. */
export interface EpochQueryAtBroker {
  readonly node: number;
  readonly partition: number;
  readonly currentEpoch: number;
  readonly epoch: number;
}

/**
 * A fetcher whose brokers are simulated by the test. Topic `orders` has the partitions 0-3, which
 * node 1 leads until a test changes the leader.
 */
export class FetcherUnderTest {
  readonly runtime = new VirtualRuntime();
  readonly ownedPartitions = new OwnedPartitions();
  readonly events: string[] = [];
  readonly fetches: PendingFetch[] = [];
  readonly budget: PrefetchBudget;
  readonly fetcher: Fetcher;
  readonly records: FetchedRecords;
  readonly cluster = this.#scriptedCluster();
  leaders: readonly number[] = [1, 1, 1, 1];
  leaderEpoch = 0;
  nodes: readonly number[] = [];
  readonly epochQueries: EpochQueryAtBroker[] = [];
  epochEnd: (query: EpochQueryAtBroker) => Partial<EpochEnd> | Promise<Partial<EpochEnd>> = () => {
    throw new Error('No leader was to be asked about its log.');
  };
  metadataCode = 0;
  topicId: string | null = null;

  constructor(options: { readonly budgetBytes?: number; readonly rackId?: string } = {}) {
    this.budget = new PrefetchBudget(options.budgetBytes ?? 64 * 1024 * 1024);
    this.records = new FetchedRecords(this.ownedPartitions, (partition, error) => {
      partition.dropChunks();
      this.events.push(`unreadable ${partition.partition} ${error.name}`);
    });
    this.fetcher = new Fetcher({
      cluster: this.cluster,
      sessionId: 's',
      isolation: 'read_committed',
      fetch: FETCH,
      rackId: options.rackId,
      share: this.budget.join(),
      callbacks: {
        partitions: this.ownedPartitions,
        onRecords: () => this.records.notify(),
        onOutOfRange: ({ partition }) => this.events.push(`out of range ${partition}`),
        onTruncated: ({ partition }, divergence) =>
          this.events.push(
            `truncated ${partition} ${divergence ? `${divergence.offset} of ${divergence.leaderEpoch}` : '?'}`,
          ),
        onStopped: (partition, error) => {
          partition.stop(error);
          this.events.push(`stopped ${partition.partition} ${error.code}`);
        },
        onError: ({ partition }, error) => this.events.push(`error ${partition} ${error.name}`),
        onProgress: ({ partition }) => this.events.push(`progress ${partition}`),
        onInternalError: (error) => this.events.push(`internal error ${error.message}`),
      },
    });
  }

  async own(...partitions: number[]): Promise<void> {
    await this.cluster.metadata.refresh(['orders']);
    for (const partition of partitions) {
      const owned = this.ownedPartitions.add({ topic: 'orders', partition }, this.topicId);
      owned.moveTo(0);
      owned.deliverable = true;
    }
    this.fetcher.wake();
    await this.runtime.settle();
  }

  /** Returns the fetch under way on the channel; throws if there is none. */
  pendingFetch(channel: string): PendingFetch {
    const found = this.fetches.findLast((fetch) => fetch.channel.startsWith(channel));
    if (!found)
      throw new Error(`No fetch on ${channel}: ${this.fetches.map((each) => each.channel).join()}`);
    return found;
  }

  #epochEnds(node: number, body: Buffer): Promise<readonly EpochEnd[]> {
    const queries = readEpochQueries(body).map((query) => ({ node, ...query }));
    this.epochQueries.push(...queries);
    return Promise.all(
      queries.map(async (query) => ({
        topic: 'orders',
        partition: query.partition,
        code: 0,
        leaderEpoch: -1,
        endOffset: -1,
        ...(await this.epochEnd(query)),
      })),
    );
  }

  #scriptedCluster(): ClusterClient {
    const metadata = new Metadata(this.runtime, async (topics) => ({
      brokers: this.nodes.map((id) => ({ id, host: 'broker', port: 1, rack: null })),
      clusterId: null,
      controllerId: 1,
      topics: topics.map((name) => ({
        code: this.metadataCode,
        name,
        id: this.topicId,
        internal: false,
        partitions: this.leaders.map((leader, partition) => ({
          code: 0,
          partition,
          leader,
          leaderEpoch: this.leaderEpoch,
          replicas: [],
          inSync: [],
        })),
      })),
    }));
    const request = async <T>(
      node: unknown,
      channel: string,
      request: ApiRequest<T>,
      options: { readonly signal?: AbortSignal } = {},
    ): Promise<T> => {
      if (request.apiKey !== FETCH_KEY)
        return (await this.#epochEnds(node as number, await request.encode(3))) as T;
      const body = await request.encode(11);
      const { maxWaitMs, offsets, order, leaderEpochs, rackId } = readFetch(body);
      const pending = new PendingFetch(
        node as number,
        channel,
        maxWaitMs,
        offsets,
        order,
        leaderEpochs,
        rackId,
      );
      this.fetches.push(pending);
      return abortable(pending.answered.promise as Promise<T>, options.signal);
    };
    return {
      metadata,
      features: new ClusterFeatures(),
      runtime: this.runtime,
      requestTimeoutMs: 30_000,
      closeChannel: (channel: string) => void this.events.push(`closed ${channel}`),
      request,
    };
  }
}

/** Reads the request body of Fetch 11. */
function readFetch(
  body: Buffer,
): Pick<PendingFetch, 'maxWaitMs' | 'offsets' | 'order' | 'leaderEpochs' | 'rackId'> {
  const reader = new Reader(body);
  reader.int32();
  const maxWaitMs = reader.int32();
  reader.raw(17);
  const asked = reader.array(() => {
    reader.string();
    return reader.array(() => {
      const partition = reader.int32();
      const leaderEpoch = reader.int32();
      const offset = reader.int64();
      reader.raw(12);
      return { partition, leaderEpoch, offset };
    });
  });
  const queries = asked.flat();
  reader.int32();
  return {
    maxWaitMs,
    rackId: reader.string(),
    offsets: Object.fromEntries(queries.map(({ partition, offset }) => [partition, offset])),
    order: queries.map(({ partition }) => partition),
    leaderEpochs: queries.map(({ leaderEpoch }) => leaderEpoch),
  };
}

/** Reads the request body of OffsetForLeaderEpoch 3. */
function readEpochQueries(body: Buffer): readonly Omit<EpochQueryAtBroker, 'node'>[] {
  const reader = new Reader(body);
  reader.int32();
  const asked = reader.array(() => {
    reader.string();
    return reader.array(() => ({
      partition: reader.int32(),
      currentEpoch: reader.int32(),
      epoch: reader.int32(),
    }));
  });
  return asked.flat();
}

/** Polls records and returns their values. */
export const records = async (test: FetcherUnderTest, max = 10): Promise<string[]> =>
  (await test.records.poll(max)).map(({ value }) => String(value));
