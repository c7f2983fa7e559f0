import { BrokerError, ClosedError } from '../../port/errors.js';
import type { Timer } from '../../runtime/index.js';
import type { ProducedPartition } from '../../wire/index.js';
import { LeaderLane } from './batching/leader-lane.js';
import type { PendingBatch } from './batching/pending-batch.js';
import type { PartitionQueue } from './batching/partition-queue.js';
import { ProduceAttempt } from './idempotence/produce-attempt.js';
import { failureOf, verdictOf, type ProduceVerdict } from './idempotence/produce-verdict.js';
import type { Desk, DeskOf, SenderContext } from './sender-options.js';
import { Settlement } from './idempotence/batch-completion.js';

/** The broker gives up waiting for its followers before we give up waiting for the broker: an answer beats a lost connection. */
const BROKER_SHARE_OF_TIMEOUT = 0.8;
/** Of the wait for metadata before an attempt is repeated. */
const LONGEST_REFRESH_MS = 2_000;

export interface SenderEvents {
  /** Memory was released, or records got their outcome. */
  settled(): void;
  /** Nothing should linger: the producer closes, or records wait for memory. */
  isHurried(): boolean;
}

/**
 * The way out: partitions in line before their leaders, requests under way, and what the answers
 * mean for each batch. At most one batch of a partition is under way, so a retry can never be
 * overtaken: the order within a partition holds without sequence numbers. Those tell the broker
 * a repetition from the next batch.
 *
 *   empty → (unidentified) → in-line → under-way → empty | in-line (more) | recovering → in-line
 */
export class Sender {
  readonly #lanes = new Map<number, LeaderLane>();
  readonly #desk: Desk | undefined;
  readonly #settlement: Settlement;
  readonly #recovering = new Map<PartitionQueue, Timer>();
  #isStopped = false;

  constructor(
    private readonly context: SenderContext,
    private readonly connectionLane: string,
    deskOf: DeskOf,
    private readonly events: SenderEvents,
  ) {
    this.#settlement = new Settlement(context);
    this.#desk = deskOf(context, (queues) => {
      for (const queue of queues) this.#lineUp(queue);
      this.events.settled();
      this.pump();
    });
  }

  /** The queue has records that nobody takes care of yet. */
  filled(queue: PartitionQueue): void {
    if (queue.state === 'empty') this.#lineUp(queue);
  }

  pump(): void {
    for (const lane of this.#lanes.values()) lane.pump();
  }

  stop(): void {
    this.#isStopped = true;
    this.#desk?.stop();
    for (const lane of this.#lanes.values()) lane.stop();
    for (const timer of this.#recovering.values()) timer.cancel();
    this.#recovering.clear();
  }

  #lineUp(queue: PartitionQueue): void {
    if (this.#desk?.admit(queue) === false) return;
    const leader = this.context.cluster.metadata.leader(queue.topic, queue.partition);
    if (leader === undefined) this.#recover(queue, true);
    else this.#lane(leader).join(queue);
  }

  #lane(node: number): LeaderLane {
    let lane = this.#lanes.get(node);
    if (lane === undefined) {
      lane = new LeaderLane(node, this.context, this.events.isHurried, (from, queues) => {
        void this.#carry(from, queues);
      });
      this.#lanes.set(node, lane);
    }
    return lane;
  }

  async #carry(lane: LeaderLane, queues: readonly PartitionQueue[]): Promise<void> {
    const { requestTimeoutMs } = this.context.options;
    const brokerTimeoutMs = Math.ceil(requestTimeoutMs * BROKER_SHARE_OF_TIMEOUT);
    const attempt = new ProduceAttempt(queues, brokerTimeoutMs, this.context);
    try {
      const answer = await this.context.cluster.request(
        lane.node,
        this.connectionLane,
        attempt.request,
        { timeoutMs: requestTimeoutMs },
      );
      if (!this.#isStopped) this.#reconcile(this.#thatLeft(attempt), answer);
    } catch (error) {
      if (!this.#isStopped) this.#requestFailed(this.#thatLeft(attempt), error as Error);
    } finally {
      attempt.over();
      lane.settled();
    }
    if (this.#isStopped) return;
    this.events.settled();
    this.pump();
  }

  /** Whose head could not be encoded would meet the same again: it has failed, and nothing of it was sent. */
  #thatLeft(attempt: ProduceAttempt): readonly PartitionQueue[] {
    return attempt.queues.filter((queue) => {
      const { head } = queue;
      const error = head && attempt.failureOf(head);
      if (!error) return true;
      this.#logBug(error);
      this.#apply(queue, head, failureOf(error, true, false));
      return false;
    });
  }

  #reconcile(queues: readonly PartitionQueue[], answers: readonly ProducedPartition[]): void {
    for (const queue of queues) {
      const { topic, partition, head } = queue;
      const answer = answers.find(
        (candidate) => candidate.partition === partition && candidate.topic === topic,
      );
      // Everybody may have given up before the request left; what came since has not been sent.
      if (head?.stage !== 'under-way') this.#next(queue);
      else this.#apply(queue, head, verdictOf(answer, topic, partition));
    }
  }

  #requestFailed(queues: readonly PartitionQueue[], error: Error): void {
    if (error instanceof ClosedError) return this.context.onClusterClosed(error);
    if (!(error instanceof BrokerError)) this.#logBug(error);
    const isFinal = !(error instanceof BrokerError) || !error.retriable;
    for (const queue of queues) {
      const { head } = queue;
      if (head === undefined) this.#next(queue);
      else this.#apply(queue, head, failureOf(error, isFinal, head.stage === 'under-way'));
    }
  }

  #apply(queue: PartitionQueue, head: PendingBatch, verdict: ProduceVerdict): void {
    const sequel = this.#settlement.settle(queue, head, verdict);
    if (sequel.kind === 'next') this.#next(queue);
    else this.#recover(queue, sequel.refresh);
  }

  #next(queue: PartitionQueue): void {
    if (queue.head === undefined) queue.state = 'empty';
    else this.#lineUp(queue);
  }

  /** Tries the head again after a while, with metadata that are younger than its failure. */
  #recover(queue: PartitionQueue, refresh: boolean): void {
    queue.state = 'recovering';
    const timer = this.context.cluster.runtime.setTimer(
      () => void this.#tryAgain(queue, refresh),
      queue.backoff.next(),
    );
    this.#recovering.set(queue, timer);
  }

  async #tryAgain(queue: PartitionQueue, refresh: boolean): Promise<void> {
    if (refresh && queue.prune() !== undefined) await this.#refreshSoon(queue);
    if (this.#isStopped) return;
    this.#recovering.delete(queue);
    if (queue.prune() === undefined) queue.state = 'empty';
    else this.#lineUp(queue);
    this.events.settled();
    this.pump();
  }

  /** The leader that is known may be right after all: metadata that do not come hold nobody up for long. */
  #refreshSoon(queue: PartitionQueue): Promise<void> {
    return new Promise((resolve) => {
      const timer = this.context.cluster.runtime.setTimer(resolve, LONGEST_REFRESH_MS);
      this.#recovering.set(queue, timer);
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
      if (queue.head) queue.head.trouble ??= error as Error;
    }
  }

  #logBug(error: Error): void {
    this.context.logger.error(
      'A produce request failed in a way that no broker causes. This is a defect of the driver: please report it.',
      { error: error.stack ?? error.message },
    );
  }
}
