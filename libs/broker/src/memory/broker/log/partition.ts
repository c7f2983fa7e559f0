import type { Runtime } from '../../../runtime/index.js';
import { PartitionLog } from './partition-log.js';
import { ProducerStates, type AcceptedBatch } from './producer-states.js';
import { Refusal } from '../faults/refusal.js';
import { checkBatch, describeBatch, type StoredBatch } from './stored-batch.js';
import type { TopicConfig } from './topic-config.js';

export interface AppendResult {
  readonly baseOffset: number;
  /** The broker's time if the topic uses LogAppendTime, else -1. */
  readonly appendTime: number;
}

/** A partition at its leader: log, idempotent producers, and watchers. */
export class Partition {
  readonly log = new PartitionLog();
  readonly #producers = new ProducerStates();
  readonly #watchers = new Set<() => void>();
  /** The id of the leader; -1 while there is none. */
  leader: number;
  leaderEpoch = 0;

  constructor(
    readonly topic: string,
    readonly index: number,
    readonly replicas: readonly number[],
    private readonly config: TopicConfig,
    private readonly runtime: Runtime,
  ) {
    this.leader = replicas[0] ?? -1;
  }

  /** Appends one batch of a produce request. The bytes are copied, so the sender may reuse them. */
  append(request: Buffer): AppendResult {
    checkBatch(request);
    const bytes = Buffer.from(request);
    const batch = describeBatch(bytes);
    const repeated = this.#producers.check(batch);
    if (repeated) return this.#resultOf(repeated);
    this.#checkLimits(batch);
    const now = this.runtime.now();
    const byBroker = this.config.text('message.timestamp.type') === 'LogAppendTime';
    const { baseOffset } = this.log.append(bytes, this.leaderEpoch, byBroker ? now : undefined);
    this.#producers.accept(batch, baseOffset, byBroker ? now : -1);
    this.notifyWatchers();
    return { baseOffset, appendTime: byBroker ? now : -1 };
  }

  /** Appends the marker that ends a transaction; from then on the producer must use `epoch`. */
  appendMarker(bytes: Buffer, epoch: number, outcome: 'commit' | 'abort'): void {
    const marker = this.log.append(bytes, this.leaderEpoch);
    this.log.endTransaction(marker, outcome);
    this.#producers.raiseEpoch(marker.producerId, epoch);
    this.notifyWatchers();
  }

  /** Applies the retention settings at access, which has the same visible effect as a timer. */
  applyRetention(): void {
    const age = this.config.number('retention.ms');
    const bytes = this.config.number('retention.bytes');
    if (!this.config.text('cleanup.policy').includes('delete')) return;
    this.log.expire(age < 0 ? -Infinity : this.runtime.now() - age, bytes < 0 ? Infinity : bytes);
  }

  /**
   * Calls back at every change that may end a wait for records. Returns the function that stops it.
   */
  watch(watcher: () => void): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  notifyWatchers(): void {
    for (const watcher of [...this.#watchers]) watcher();
  }

  #resultOf({ baseOffset, timestamp }: AcceptedBatch): AppendResult {
    return { baseOffset, appendTime: timestamp };
  }

  #checkLimits(batch: StoredBatch): void {
    const limit = this.config.number('max.message.bytes');
    if (batch.bytes.length > limit)
      throw new Refusal(
        'MESSAGE_TOO_LARGE',
        `the batch has ${batch.bytes.length} bytes and topic "${this.topic}" takes at most ${limit} (max.message.bytes)`,
      );
    if (this.config.text('message.timestamp.type') === 'LogAppendTime') return;
    const ahead = batch.maxTimestamp - this.runtime.now();
    if (ahead > this.config.number('message.timestamp.after.max.ms'))
      throw new Refusal(
        'INVALID_TIMESTAMP',
        `a timestamp is ${ahead} ms in the future (message.timestamp.after.max.ms)`,
      );
  }
}
