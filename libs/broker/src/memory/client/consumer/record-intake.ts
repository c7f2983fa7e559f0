import type { ResolvedConsumerOptions } from '../../../port/validate-options.js';
import type { TopicPartition } from '../../../port/record.js';
import { HeaderNames, RecordBatchReader, RecordChunks } from '../../../records/index.js';
import { Backoff } from '../../../runtime/index.js';
import { fetchRecords, type FetchedPartition } from '../../broker/fetch.js';
import type { Refusal } from '../../broker/refusal.js';
import type { Link } from '../link.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { OwnedPartition } from './owned-partition.js';
import type { SessionParts } from './session-parts.js';

type Read = Extract<FetchedPartition, { kind: 'read' }>;

/** Fetches ahead, one answer at a time, for the partitions whose records are wanted and not at hand. */
export class RecordIntake {
  readonly #chunks = new RecordChunks();
  readonly #headerNames = new HeaderNames();
  readonly #backoff: Backoff;
  #asked = new Map<OwnedPartition, number>();
  #endWait: AbortController | undefined;

  constructor(
    private readonly link: Link,
    private readonly options: ResolvedConsumerOptions,
    private readonly parts: SessionParts,
  ) {
    this.#backoff = new Backoff(link.cluster.runtime, { initialMs: 20, maxMs: 1_000 });
  }

  /** Runs until the session ends. */
  async run(signal: AbortSignal): Promise<void> {
    const { ownership, bell, status } = this.parts;
    while (!signal.aborted) {
      const rung = bell.next;
      const wanted = ownership.wanted();
      if (wanted.length === 0) {
        await rung;
        continue;
      }
      try {
        const trouble = this.#apply(wanted, await this.#fetch(wanted, signal));
        if (trouble) throw trouble;
        this.#backoff.reset();
        status.recovered('fetching');
      } catch (error) {
        if (signal.aborted) return;
        await this.#meetTrouble(error, signal);
      }
    }
  }

  /** What is wanted has changed: a fetch that waits for something else is answered now. */
  wake(): void {
    this.parts.bell.ring();
    const isNew = (each: OwnedPartition): boolean => this.#asked.get(each) !== each.position;
    if (this.#endWait && this.parts.ownership.wanted().some(isNew)) this.#endWait.abort();
  }

  async #fetch(
    wanted: readonly OwnedPartition[],
    signal: AbortSignal,
  ): Promise<readonly FetchedPartition[]> {
    const endWait = new AbortController();
    this.#endWait = endWait;
    this.#asked = new Map(wanted.map((each) => [each, each.position]));
    try {
      return await this.#ask(wanted, endWait, signal);
    } finally {
      this.#endWait = undefined;
    }
  }

  #ask(
    wanted: readonly OwnedPartition[],
    endWait: AbortController,
    signal: AbortSignal,
  ): Promise<readonly FetchedPartition[]> {
    const { cluster, requestTimeoutMs } = this.link;
    const { groupId, isolation, fetch } = this.options;
    const partitions = wanted.map((each) => ({
      topic: each.topic,
      partition: each.partition,
      topicId: each.topicId,
      offset: each.position,
      lastEpoch: each.trail.last,
      maxBytes: fetch.maxPartitionBytes,
    }));
    const scope = { operation: 'fetch', groupId, partitions } as const;
    const request = { ...fetch, isolation, partitions };
    return this.link.call(
      scope,
      (onGone) => {
        onGone(() => endWait.abort());
        const refuse = (partition: TopicPartition): Refusal | undefined =>
          cluster.faults.refusalOf({ ...scope, clientId: this.link.clientId }, partition);
        return fetchRecords(cluster, request, refuse, endWait.signal);
      },
      { timeoutMs: fetch.maxWaitMs + requestTimeoutMs, signal },
    );
  }

  /** Takes what still answers the question as it stands now; returns the trouble that asks for a pause. */
  #apply(
    wanted: readonly OwnedPartition[],
    answer: readonly FetchedPartition[],
  ): Error | undefined {
    let trouble: Error | undefined;
    answer.forEach((fetched, index) => {
      const partition = wanted[index];
      if (!partition || !this.#isCurrent(partition, fetched.offset)) return;
      if (fetched.kind === 'read') this.#buffer(partition, fetched);
      else if (fetched.kind === 'diverged') this.parts.truncated(partition, fetched.end);
      else trouble = this.#meetRefusal(partition, fetched.refusal) ?? trouble;
    });
    this.parts.bell.ring();
    return trouble;
  }

  #isCurrent(partition: OwnedPartition, offset: number): boolean {
    const { ownership } = this.parts;
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
    this.link.cluster.network.charge(bytes.length);
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

  /** Returns what can only be waited for. */
  #meetRefusal(partition: OwnedPartition, refusal: Refusal): Error | undefined {
    switch (refusal.reason) {
      case 'OFFSET_OUT_OF_RANGE':
        this.parts.outOfRange(partition);
        return undefined;
      case 'UNKNOWN_TOPIC_OR_PARTITION':
      case 'UNKNOWN_TOPIC_ID':
        this.parts.topicChanged(partition);
        return undefined;
      default:
        return toBrokerError(refusal, partition.topic);
    }
  }

  async #meetTrouble(error: unknown, signal: AbortSignal): Promise<void> {
    const shown = toBrokerError(error);
    if (!isRetriable(shown)) return this.parts.fail(shown);
    this.parts.status.trouble('fetching', shown);
    await this.parts.rest(this.#backoff.next(), signal);
  }
}
