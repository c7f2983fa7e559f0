import { errorFramesOf, errorReasonOf } from '../../port/error-text.js';
import { BrokerError, ClosedError, UnknownTopicError } from '../../port/errors.js';
import type { Timer } from '../../runtime/index.js';
import type { ProducedPartition } from '../../wire/index.js';
import { LeaderQueue } from './batching/leader-queue.js';
import type { PendingBatch } from './batching/pending-batch.js';
import type { PartitionQueue } from './batching/partition-queue.js';
import { ProduceAttempt } from './idempotence/produce-attempt.js';
import {
  resultOfFailure,
  produceResultOf,
  type ProduceResult,
} from './idempotence/produce-result.js';
import type {
  PartitionRegistrar,
  PartitionRegistrarFactory,
  SenderContext,
} from './sender-context.js';
import { BatchCompletion } from './idempotence/batch-completion.js';

/**
 * The part of the request timeout for which the broker waits for its followers. It ends before the
 * request timeout, because an error response is better than a lost connection.
 */
const BROKER_SHARE_OF_TIMEOUT = 0.8;
const UNKNOWN_TOPIC_OR_PARTITION = 3;
/** The longest wait for metadata before an attempt is repeated. */
const MAX_REFRESH_MS = 2_000;

export interface SenderEvents {
  /** Called when memory was released or records got their outcome. */
  onSettled(): void;
  /**
   * Returns true if batches must not linger, because the producer closes or records wait for
   * memory.
   */
  skipsLinger(): boolean;
}

/**
 * Sends the batches of all partitions to their leaders and applies the responses. At most one batch
 * of a partition is in flight, so no later batch overtakes a retry. The order within a partition
 * therefore does not depend on sequence numbers. Their purpose is that the broker recognises a
 * duplicate batch.
 *
 * The states of a partition:
 *
 *   empty → (unregistered) → ready → in-flight → empty | ready (more records) | retrying → ready
 */
export class Sender {
  readonly #leaderQueues = new Map<number, LeaderQueue>();
  readonly #registrar: PartitionRegistrar | undefined;
  readonly #completion: BatchCompletion;
  readonly #retryTimers = new Map<PartitionQueue, Timer>();
  #isStopped = false;

  constructor(
    private readonly context: SenderContext,
    private readonly channel: string,
    createRegistrar: PartitionRegistrarFactory,
    private readonly events: SenderEvents,
  ) {
    this.#completion = new BatchCompletion(context);
    this.#registrar = createRegistrar(context, (queues) => {
      for (const queue of queues) this.#enqueue(queue);
      this.events.onSettled();
      this.pump();
    });
  }

  /** Enqueues a partition that has records and is in no queue yet. */
  enqueueIfIdle(queue: PartitionQueue): void {
    if (queue.state === 'empty') this.#enqueue(queue);
  }

  pump(): void {
    for (const leader of this.#leaderQueues.values()) leader.pump();
  }

  stop(): void {
    this.#isStopped = true;
    this.#registrar?.stop();
    for (const leader of this.#leaderQueues.values()) leader.stop();
    for (const timer of this.#retryTimers.values()) timer.cancel();
    this.#retryTimers.clear();
  }

  #enqueue(queue: PartitionQueue): void {
    if (this.#registrar?.register(queue) === false) return;
    const leader = this.context.cluster.metadata.leader(queue.topic, queue.partition);
    if (leader === undefined) this.#retryLater(queue, true);
    else this.#leaderQueue(leader).add(queue);
  }

  #leaderQueue(node: number): LeaderQueue {
    let leader = this.#leaderQueues.get(node);
    if (leader === undefined) {
      leader = new LeaderQueue(node, this.context, this.events.skipsLinger, (from, queues) => {
        void this.#sendRequest(from, queues);
      });
      this.#leaderQueues.set(node, leader);
    }
    return leader;
  }

  async #sendRequest(leader: LeaderQueue, queues: readonly PartitionQueue[]): Promise<void> {
    const { requestTimeoutMs } = this.context.options;
    const brokerTimeoutMs = Math.ceil(requestTimeoutMs * BROKER_SHARE_OF_TIMEOUT);
    const attempt = new ProduceAttempt(queues, brokerTimeoutMs, this.context);
    try {
      const answer = await this.context.cluster.request(
        leader.node,
        this.channel,
        attempt.request,
        { timeoutMs: requestTimeoutMs },
      );
      if (!this.#isStopped) this.#applyResponse(this.#encodedQueues(attempt), answer);
    } catch (error) {
      if (!this.#isStopped) this.#requestFailed(this.#encodedQueues(attempt), error as Error);
    } finally {
      attempt.isFinished = true;
      leader.inFlight--;
    }
    if (this.#isStopped) return;
    this.events.onSettled();
    this.pump();
  }

  /**
   * Returns the queues whose head batch was encoded. A batch that cannot be encoded fails at once,
   * because the next attempt would fail as well. No part of such a batch was sent.
   */
  #encodedQueues(attempt: ProduceAttempt): readonly PartitionQueue[] {
    if (attempt.unencodable.size === 0) return attempt.queues;
    return attempt.queues.filter((queue) => {
      const { head } = queue;
      const error = head && attempt.unencodable.get(head);
      if (!error) return true;
      this.#logDefect(error);
      this.#apply(queue, head, resultOfFailure(error, true, false));
      return false;
    });
  }

  #applyResponse(queues: readonly PartitionQueue[], answers: readonly ProducedPartition[]): void {
    for (const queue of queues) {
      const { topic, partition, head } = queue;
      const answer = answers.find(
        (candidate) => candidate.partition === partition && candidate.topic === topic,
      );
      // The callers may all have aborted before the request was sent. Records that were added later
      // are not in the request.
      if (head?.stage !== 'in-flight') this.#continueWith(queue);
      else this.#apply(queue, head, produceResultOf(answer, topic, partition));
    }
  }

  #requestFailed(queues: readonly PartitionQueue[], error: Error): void {
    if (error instanceof ClosedError) return this.context.onClusterClosed(error);
    if (!(error instanceof BrokerError)) this.#logDefect(error);
    const isFinal = !(error instanceof BrokerError) || !error.retriable;
    for (const queue of queues) {
      const { head } = queue;
      if (head === undefined) this.#continueWith(queue);
      else this.#apply(queue, head, resultOfFailure(error, isFinal, head.stage === 'in-flight'));
    }
  }

  #apply(queue: PartitionQueue, head: PendingBatch, result: ProduceResult): void {
    const next = this.#completion.complete(queue, head, result);
    if (next.kind === 'next') this.#continueWith(queue);
    else this.#retryLater(queue, next.refresh);
  }

  #continueWith(queue: PartitionQueue): void {
    if (queue.head === undefined) queue.state = 'empty';
    else this.#enqueue(queue);
  }

  /**
   * Sends the head batch again after a delay. With `refresh`, the metadata are refreshed before.
   */
  #retryLater(queue: PartitionQueue, refresh: boolean): void {
    queue.state = 'retrying';
    const timer = this.context.cluster.runtime.setTimer(
      () => void this.#retry(queue, refresh),
      queue.backoff.next(),
    );
    this.#retryTimers.set(queue, timer);
  }

  async #retry(queue: PartitionQueue, refresh: boolean): Promise<void> {
    if (refresh && queue.prune() !== undefined) await this.#refreshWithin(queue);
    if (this.#isStopped) return;
    if (refresh) this.#failIfTopicIsMissing(queue);
    this.#retryTimers.delete(queue);
    if (queue.prune() === undefined) queue.state = 'empty';
    else this.#enqueue(queue);
    this.events.onSettled();
    this.pump();
  }

  /** Counts only after the brokers have answered that there is no such topic any more. */
  #failIfTopicIsMissing(queue: PartitionQueue): void {
    const { cluster, options } = this.context;
    if (cluster.metadata.topic(queue.topic)?.code !== UNKNOWN_TOPIC_OR_PARTITION) return;
    const startedBy = cluster.runtime.monotonic() - options.missingTopicTimeoutMs;
    queue.failCallsUntil(startedBy, new UnknownTopicError(queue.topic));
  }

  /**
   * Waits for new metadata, but not for long, because the known leader may still be the right one.
   */
  #refreshWithin(queue: PartitionQueue): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.context.cluster.runtime.setTimer(resolve, MAX_REFRESH_MS);
      this.#retryTimers.set(queue, timer);
      void this.#refresh(queue).then(() => {
        timer.cancel();
        resolve();
      });
    });
  }

  async #refresh(queue: PartitionQueue): Promise<void> {
    try {
      await this.context.cluster.metadata.refresh([queue.topic]);
    } catch (error) {
      if (error instanceof ClosedError) return this.context.onClusterClosed(error);
      if (queue.head) queue.head.lastError ??= error as Error;
    }
  }

  #logDefect(error: Error): void {
    this.context.logger.error(
      'A produce request failed with an unexpected error. This is a bug of the driver: please report it.',
      { error: errorReasonOf(error), frames: errorFramesOf(error) },
    );
  }
}
