import type { ResolvedConsumerOptions } from '../../../port/validate-consumer-options.js';
import type { TopicPartition } from '../../../port/record.js';
import { HeaderNameCache, RecordBatchReader, RecordChunks } from '../../../records/index.js';
import { Backoff } from '../../../runtime/index.js';
import { fetchRecords, type FetchedPartition } from '../../broker/log/fetch.js';
import type { Refusal } from '../../broker/faults/refusal.js';
import type { Connection } from '../connection.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { OwnedPartition } from './owned-partition.js';
import type { SessionContext } from './session-context.js';

type Read = Extract<FetchedPartition, { kind: 'read' }>;

/**
 * Fetches records ahead, one response at a time, for the partitions that have no buffered records.
 */
export class RecordFetcher {
  readonly #chunks = new RecordChunks();
  readonly #headerNames = new HeaderNameCache();
  readonly #backoff: Backoff;
  #requested = new Map<OwnedPartition, number>();
  #fetchEnd: AbortController | undefined;

  constructor(
    private readonly connection: Connection,
    private readonly options: ResolvedConsumerOptions,
    private readonly context: SessionContext,
  ) {
    this.#backoff = new Backoff(connection.cluster.runtime, { initialMs: 20, maxMs: 1_000 });
  }

  /** Runs until the session ends. */
  async run(signal: AbortSignal): Promise<void> {
    const { ownership, notifier, status } = this.context;
    while (!signal.aborted) {
      const changed = notifier.next;
      const wanted = ownership.wanted();
      if (wanted.length === 0) {
        // Nothing else would end the error of a partition that was lost.
        if (ownership.list().length === 0) status.recovered('fetching');
        await changed;
        continue;
      }
      try {
        const error = this.#apply(wanted, await this.#fetch(wanted, signal));
        if (error) throw error;
        this.#backoff.reset();
        status.recovered('fetching');
      } catch (error) {
        if (signal.aborted) return;
        await this.#handleError(error, signal);
      }
    }
  }

  /** Ends a waiting fetch if it does not contain a position that is wanted now. */
  wake(): void {
    this.context.notifier.notify();
    const isNew = (each: OwnedPartition): boolean => this.#requested.get(each) !== each.position;
    if (this.#fetchEnd && this.context.ownership.wanted().some(isNew)) this.#fetchEnd.abort();
  }

  async #fetch(
    wanted: readonly OwnedPartition[],
    signal: AbortSignal,
  ): Promise<readonly FetchedPartition[]> {
    const endWait = new AbortController();
    this.#fetchEnd = endWait;
    this.#requested = new Map(wanted.map((each) => [each, each.position]));
    try {
      return await this.#sendFetch(wanted, endWait, signal);
    } finally {
      this.#fetchEnd = undefined;
    }
  }

  #sendFetch(
    wanted: readonly OwnedPartition[],
    endWait: AbortController,
    signal: AbortSignal,
  ): Promise<readonly FetchedPartition[]> {
    const { cluster, requestTimeoutMs } = this.connection;
    const { groupId, isolation, fetch } = this.options;
    const partitions = wanted.map((each) => ({
      topic: each.topic,
      partition: each.partition,
      topicId: each.topicId,
      offset: each.position,
      lastEpoch: each.epochs.last,
      maxBytes: fetch.maxPartitionBytes,
    }));
    const scope = { operation: 'fetch', groupId, partitions } as const;
    const request = { ...fetch, isolation, partitions };
    return this.connection.call(
      scope,
      (onGone) => {
        onGone(() => endWait.abort());
        const refuse = (partition: TopicPartition): Refusal | undefined =>
          cluster.faults.refusalOf({ ...scope, clientId: this.connection.clientId }, partition);
        return fetchRecords(cluster, request, refuse, endWait.signal);
      },
      { timeoutMs: fetch.maxWaitMs + requestTimeoutMs, signal },
    );
  }

  /**
   * Applies the parts of the response that still match the current positions. Returns an error
   * after which the next fetch must be delayed.
   */
  #apply(
    wanted: readonly OwnedPartition[],
    answer: readonly FetchedPartition[],
  ): Error | undefined {
    let error: Error | undefined;
    answer.forEach((fetched, index) => {
      const partition = wanted[index];
      if (!partition || !this.#isCurrent(partition, fetched.offset)) return;
      if (fetched.kind === 'read') this.#buffer(partition, fetched);
      else if (fetched.kind === 'diverged') this.context.truncated(partition, fetched.end);
      else error = this.#handleRefusal(partition, fetched.refusal) ?? error;
    });
    this.context.notifier.notify();
    return error;
  }

  #isCurrent(partition: OwnedPartition, offset: number): boolean {
    const { ownership } = this.context;
    return (
      ownership.get(partition) === partition &&
      partition.wantsRecords &&
      partition.position === offset
    );
  }

  #buffer(partition: OwnedPartition, { offset, batches, aborted }: Read): void {
    const [first] = batches;
    if (!first) return;
    const bytes =
      batches.length === 1 ? first.bytes : Buffer.concat(batches.map((batch) => batch.bytes));
    this.connection.cluster.network.countWork(bytes.length);
    partition.buffer(
      new RecordBatchReader(bytes, {
        topic: partition.topic,
        partition: partition.partition,
        fetchOffset: offset,
        isolation: this.options.isolation,
        abortedTransactions: aborted.map(({ producerId, firstOffset }) => ({
          producerId: BigInt(producerId),
          firstOffset,
        })),
        checkCrc: this.options.fetch.checkCrc,
        maxInflatedBytes: this.options.fetch.maxInflatedBytes,
        chunks: this.#chunks,
        headerNames: this.#headerNames,
      }),
    );
  }

  /** Handles an error of one partition. Returns the error if only waiting helps. */
  #handleRefusal(partition: OwnedPartition, refusal: Refusal): Error | undefined {
    switch (refusal.reason) {
      case 'OFFSET_OUT_OF_RANGE':
        this.context.outOfRange(partition);
        return undefined;
      case 'UNKNOWN_TOPIC_OR_PARTITION':
      case 'UNKNOWN_TOPIC_ID':
        this.context.topicChanged(partition);
        return undefined;
      default:
        return toBrokerError(refusal, partition.topic);
    }
  }

  async #handleError(error: unknown, signal: AbortSignal): Promise<void> {
    const shown = toBrokerError(error);
    if (!isRetriable(shown)) return this.context.fail(shown);
    this.context.status.retrying('fetching', shown);
    await this.context.delay(this.#backoff.next(), signal);
  }
}
