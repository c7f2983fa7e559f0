import {
  HeaderNames,
  RecordBatchReader,
  RecordChunks,
  endOfBatches,
} from '../../../records/index.js';
import {
  CONTROL_LANE,
  errorOfCode,
  fetchRequest,
  type FetchAnswer,
  type FetchedPartition,
} from '../../../wire/index.js';
import { AnswerHold } from './response-memory.js';
import type { FetchPumpOptions } from './fetch-pump.js';
import type { FetchReactions } from './fetch-reactions.js';
import type { OwnedPartition } from './owned-partition.js';

/** The ways a broker can be asked; each has a connection of its own, for a broker answers a connection in order. */
export type Way = 'long' | 'side' | 'quick';

export interface Question {
  readonly partition: OwnedPartition;
  readonly journey: number;
  readonly offset: number;
}

export interface FetchLimits {
  /** Of the answer; they were taken from the share. */
  readonly bytes: number;
  readonly maxWaitMs: number;
}

export interface FetchExchangeOptions extends FetchPumpOptions {
  readonly reactions: FetchReactions;
  readonly ended: AbortSignal;
  findLeader(partition: OwnedPartition): void;
  /** There is room again for what else is wanted. */
  onRoom(): void;
}

export const laneOf = (way: Way, sessionId: string): string =>
  way === 'quick' ? CONTROL_LANE : `fetch-${way}:${sessionId}`;

/** One request to a broker, and what its answer means for each partition that it asked about. */
export class FetchExchange {
  readonly #chunks = new RecordChunks();
  readonly #headerNames = new HeaderNames();

  constructor(private readonly options: FetchExchangeOptions) {}

  /** Gives back the bytes that were taken for it. Rejects when the request as a whole has failed. */
  async run(
    node: number,
    way: Way,
    questions: readonly Question[],
    { bytes, maxWaitMs }: FetchLimits,
  ): Promise<void> {
    const { cluster, sessionId, fetch, share, ended, reactions } = this.options;
    let answer: FetchAnswer;
    try {
      answer = await cluster.request(
        node,
        laneOf(way, sessionId),
        fetchRequest({
          maxWaitMs,
          minBytes: fetch.minBytes,
          maxBytes: bytes,
          isolation: this.options.isolation,
          rackId: this.#rackOf(questions),
          partitions: questions.map(({ partition, offset }) => ({
            topic: partition.topic,
            topicId: partition.topicId,
            partition: partition.partition,
            offset,
            leaderEpoch: cluster.metadata.leaderEpoch(partition.topic, partition.partition),
            maxBytes: Math.min(fetch.maxPartitionBytes, bytes),
          })),
        }),
        { timeoutMs: maxWaitMs + cluster.requestTimeoutMs, signal: ended },
      );
    } finally {
      share.giveBack(bytes);
    }
    if (answer.code !== 0) throw errorOfCode(answer.code, `Fetching from broker ${node}`);
    reactions.answered(node);
    this.#apply(questions, answer);
  }

  #apply(questions: readonly Question[], answer: FetchAnswer): void {
    const hold = new AnswerHold(answer, this.options.share, () => this.options.onRoom());
    for (const question of questions) {
      const { topic, partition } = question.partition;
      const fetched = answer.partitions.find(
        (candidate) => candidate.partition === partition && candidate.topic === topic,
      );
      if (question.partition.journey !== question.journey) continue;
      if (!fetched) this.options.reactions.fruitless(question.partition);
      else if (fetched.code === 0) this.#accept(question, fetched, hold);
      else this.options.reactions.refused(question.partition, fetched.code);
    }
    hold.seal();
    if (hold.parts > 0) this.options.host.onRecords();
  }

  #accept({ partition, offset }: Question, fetched: FetchedPartition, hold: AnswerHold): void {
    const { records } = fetched;
    this.options.reactions.accepted(partition);
    this.options.host.onProgress(partition);
    if (fetched.preferredReplica >= 0) return this.#goTo(fetched.preferredReplica, partition);
    if (!records || records.length === 0) {
      partition.emptyAt = offset;
      return;
    }
    const { isolation, fetch } = this.options;
    const end = endOfBatches(records, offset);
    partition.add({
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
      release: hold.part(),
    });
    // Reading them will tell the trouble.
    if (end <= offset) this.options.reactions.fruitless(partition);
  }

  #goTo(replica: number, partition: OwnedPartition): void {
    const { metadata, runtime } = this.options.cluster;
    if (metadata.brokers.has(replica)) return partition.nearby.choose(replica, runtime.monotonic());
    this.options.reactions.fruitless(partition);
    this.options.findLeader(partition);
  }

  /** One that must not be sent away is asked for without a word about where we are. */
  #rackOf(questions: readonly Question[]): string | undefined {
    const now = this.options.cluster.runtime.monotonic();
    const areWelcome = questions.every(({ partition }) => partition.nearby.isWelcome(now));
    return areWelcome ? this.options.rackId : undefined;
  }
}
