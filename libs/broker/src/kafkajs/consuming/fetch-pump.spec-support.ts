import type { FetchOptions } from '../../port/consumer.js';
import { RecordBatchWriter, placeBatch } from '../../records/index.js';
import { Deferred, VirtualRuntime, abortable } from '../../runtime/index.js';
import { Metadata, type ApiRequest } from '../wire/index.js';
import type { FetchAnswer, FetchedPartition } from '../wire/index.js';
import { Reader } from '../wire/reader.js';
import { FetchPump, type FetchCluster } from './fetch-pump.js';
import { Ownership } from './ownership.js';
import { PrefetchBudget } from './prefetch-budget.js';
import { RecordIntake } from './record-intake.js';

const FETCH: Required<FetchOptions> = {
  maxWaitMs: 5_000,
  minBytes: 1,
  maxBytes: 1024 * 1024,
  maxPartitionBytes: 1024 * 1024,
  checkCrc: true,
  maxInflatedBytes: 1024 * 1024,
};

/** A fetch under way: the broker of the test answers it when the test says so. */
export class PendingFetch {
  readonly answered = new Deferred<FetchAnswer>();

  constructor(
    readonly node: number,
    readonly lane: string,
    readonly maxWaitMs: number,
    readonly offsets: Readonly<Record<string, number>>,
    /** The partitions in the order in which they were asked for. */
    readonly order: readonly number[],
  ) {}

  answer(...partitions: Partial<FetchedPartition>[]): void {
    this.answered.resolve({
      code: 0,
      partitions: partitions.map((partition) => ({ ...emptyPartition, ...partition })),
    });
  }

  /** As a broker does when the wait is over. */
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
  aborted: [],
  records: null,
};

/** One batch with the values, at the offset. */
export function batchAt(offset: number, ...values: string[]): Buffer {
  const writer = new RecordBatchWriter(1024);
  for (const value of values) writer.append({ key: null, value }, 1_000);
  const batch = writer.finish();
  placeBatch(batch, { baseOffset: offset, leaderEpoch: 0 });
  return batch;
}

/** A pump whose broker is the test. Topic `orders`, partitions 0-3, all led by node 1 until moved. */
export class PumpUnderTest {
  readonly runtime = new VirtualRuntime();
  readonly ownership = new Ownership();
  readonly events: string[] = [];
  readonly fetches: PendingFetch[] = [];
  readonly budget: PrefetchBudget;
  readonly pump: FetchPump;
  readonly intake: RecordIntake;
  readonly cluster = this.#scriptedCluster();
  leaders: readonly number[] = [1, 1, 1, 1];
  metadataCode = 0;
  topicId: string | null = null;

  constructor(options: { readonly budgetBytes?: number } = {}) {
    this.budget = new PrefetchBudget(options.budgetBytes ?? 64 * 1024 * 1024);
    this.intake = new RecordIntake(this.ownership, (partition, error) => {
      partition.dropChunks();
      this.events.push(`broken ${partition.partition} ${error.name}`);
    });
    this.pump = new FetchPump({
      cluster: this.cluster,
      sessionId: 's',
      isolation: 'read_committed',
      fetch: FETCH,
      share: this.budget.join(),
      host: {
        partitions: this.ownership,
        onRecords: () => this.intake.notify(),
        onOutOfRange: ({ partition }) => this.events.push(`out of range ${partition}`),
        onStopped: (partition, error) => {
          partition.stop(error);
          this.events.push(`stopped ${partition.partition} ${error.code}`);
        },
        onTrouble: ({ partition }, error) => this.events.push(`trouble ${partition} ${error.name}`),
        onProgress: ({ partition }) => this.events.push(`progress ${partition}`),
        onBroken: (error) => this.events.push(`mistake ${error.message}`),
      },
    });
  }

  async own(...partitions: number[]): Promise<void> {
    await this.cluster.metadata.refresh(['orders']);
    for (const partition of partitions) {
      const owned = this.ownership.add({ topic: 'orders', partition }, this.topicId);
      owned.moveTo(0);
      owned.deliverable = true;
    }
    this.pump.wake();
    await this.runtime.settle();
  }

  /** The fetch under way on the way given; there must be one. */
  underWay(lane: string): PendingFetch {
    const found = this.fetches.findLast((fetch) => fetch.lane.startsWith(lane));
    if (!found)
      throw new Error(`No fetch on ${lane}: ${this.fetches.map((each) => each.lane).join()}`);
    return found;
  }

  #scriptedCluster(): FetchCluster {
    const metadata = new Metadata(this.runtime, async (topics) => ({
      brokers: [],
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
          leaderEpoch: 0,
          replicas: [],
          inSync: [],
        })),
      })),
    }));
    const request = async <T>(
      node: unknown,
      lane: string,
      request: ApiRequest<T>,
      options: { readonly signal?: AbortSignal } = {},
    ): Promise<T> => {
      const body = await request.encode(11);
      const { maxWaitMs, offsets, order } = readFetch(body);
      const pending = new PendingFetch(node as number, lane, maxWaitMs, offsets, order);
      this.fetches.push(pending);
      return abortable(pending.answered.promise as Promise<T>, options.signal);
    };
    return {
      metadata,
      runtime: this.runtime,
      requestTimeoutMs: 30_000,
      closeLane: (lane: string) => void this.events.push(`closed ${lane}`),
      request,
    };
  }
}

/** The body of a Fetch 11: what was asked, by partition. */
function readFetch(body: Buffer): Pick<PendingFetch, 'maxWaitMs' | 'offsets' | 'order'> {
  const reader = new Reader(body);
  reader.int32();
  const maxWaitMs = reader.int32();
  reader.raw(17);
  const asked = reader.array(() => {
    reader.string();
    return reader.array(() => {
      const partition = reader.int32();
      reader.int32();
      const offset = reader.int64();
      reader.raw(12);
      return [partition, offset] as const;
    });
  });
  const questions = asked.flat();
  return {
    maxWaitMs,
    offsets: Object.fromEntries(questions),
    order: questions.map(([partition]) => partition),
  };
}
