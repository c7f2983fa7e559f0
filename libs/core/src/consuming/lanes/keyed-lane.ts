import type { AssignedPartition } from '@nest-event-bus/broker';
import type { Backoff } from '@nest-event-bus/broker/runtime';
import { asError } from '../../errors/as-error.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import { failedOutcome, isPending } from './outcome-guards.js';
import { type Key, keyOf, type KeyQueue, KeyQueues } from './key-queues.js';
import { LaneDelivery } from './lane-delivery.js';
import {
  redeliveryDelay,
  pauseFor,
  type KeyedLaneParts,
  type UnfinishedResult,
  type UndecidedRecord,
} from './lane-parts.js';
import { PartitionLane } from './partition-lane.js';
import { waitForPreviousHandlers } from '../session/previous-handlers.js';
import type { RecordWait } from '../../model/outcomes/delivery-history.js';
import { WaitingRecords } from './waiting-records.js';

/**
 * Maximal distance between the first unfinished record and the last completed one. If the broker
 * stores no metadata, all completed records in between are redelivered after a crash.
 */
const MAX_DISTANCE_BEYOND_GAP = 100_000;

/**
 * Hands out records concurrently, but records of one key in order. A failed record blocks only its
 * key: it stays in memory and is redelivered, while the watermark does not pass it.
 */
export class KeyedLane extends PartitionLane {
  readonly #queues: KeyQueues;
  readonly #waiting = new WaitingRecords(() => this.parts.observer.onWaiting(this));
  readonly #running = new Map<LaneDelivery, KeyQueue>();
  /**
   * Keys that are blocked while a commit is awaited, or by a running handler of an earlier
   * assignment.
   */
  readonly #blocked = new Set<KeyQueue>();
  /** Running handlers whose slot was freed, because they exceed maxPollIntervalMs. */
  readonly #overdue = new Set<LaneDelivery>();
  readonly #bufferLimit: number;
  #isHandingOut = false;
  #unreported = 0;

  constructor(
    assigned: AssignedPartition,
    protected override readonly parts: KeyedLaneParts,
  ) {
    super(assigned, parts);
    this.#bufferLimit = Math.max(parts.settings.maxPollRecords, parts.slots.limit);
    this.#queues = new KeyQueues({
      runtime: parts.runtime,
      onReady: () => this.processPending(),
      onWait: ({ record }, wait) => this.#waiting.begin(record.offset, wait),
    });
    this.#waitForPreviousHandlers();
  }

  get running(): readonly LaneDelivery[] {
    return [...this.#running.keys()];
  }

  override get waiting(): WaitingRecords {
    return this.#waiting;
  }

  get backlog(): number {
    return this.pending.size + this.#queues.size;
  }

  get isBufferFull(): boolean {
    // The limits for "full" and for "free again" are far apart, so that fetching does not stop and
    // start for each record.
    if (this.exceedsByteLimit) return true;
    if (this.backlog >= (this.isBackpressured ? this.#bufferLimit : 2 * this.#bufferLimit))
      return true;
    return (
      this.progress.isMetadataFull || this.tracker.distanceBeyondGap >= MAX_DISTANCE_BEYOND_GAP
    );
  }

  processPending(): void {
    if (this.#isHandingOut) return;
    this.#isHandingOut = true;
    try {
      this.#handOut();
      if (this.phase !== 'ended') this.#reportWhenDue();
    } catch (error) {
      this.#onInternalError(error);
    } finally {
      this.#isHandingOut = false;
    }
    this.notifyBufferSpace();
  }

  override end(): void {
    super.end();
    for (const delivery of this.#running.keys()) void this.#freeWhenOverdue(delivery);
  }

  protected override deliveryAt(offset: number): LaneDelivery | undefined {
    return super.deliveryAt(offset) ?? this.#queues.find(offset);
  }

  protected dropWaiting(): void {
    const dropped = [...this.pending.takeAll(), ...this.#queues.takeAll()];
    if (dropped.length > 0) {
      this.dropped(dropped);
      this.#rewindTo(dropped.reduce((low, { record }) => Math.min(low, record.offset), Infinity));
    }
    this.#waiting.endAll();
  }

  /** Returns whether another record could begin if a slot were free. */
  get #hasNext(): boolean {
    return this.#queues.isReady || (this.pending.size > 0 && !this.waitsForDueTime);
  }

  /**
   * Returns whether completed records are to be committed now. They do not wait for a full slice if
   * no further record can begin.
   */
  get #shouldReport(): boolean {
    if (this.#hasNext || this.#unreported === 0) return false;
    const isQuiet = this.#running.size === 0;
    // Records in line behind running handlers may still fill the slice, so the commit waits for
    // them. Full metadata is an exception: no record begins until a commit has made room.
    return isQuiet || this.#queues.inLine === 0 || this.progress.isMetadataFull;
  }

  #reportWhenDue(): void {
    if (this.#shouldReport) return this.#reportProgress();
    const isIdle = this.#running.size === 0 && this.backlog === 0;
    if (isIdle && this.#unreported === 0 && this.commitPoint()) this.commitIdleProgress();
  }

  #handOut(): void {
    const { slots } = this.parts;
    while (this.phase === 'open') {
      const { isReady } = this.#queues;
      if (!isReady && (this.waitsForDueTime || !this.mayTake())) return;
      if (!slots.isFree) return slots.wait(this);
      const queue = isReady ? this.#queues.nextReady() : this.#enqueue(this.pending.take());
      const delivery = queue && this.#queues.take(queue);
      if (delivery && !this.#begin(queue, delivery)) return;
    }
  }

  #enqueue(delivery: LaneDelivery): KeyQueue | undefined {
    return this.#queues.add(keyOf(delivery.record, this.parts.by), delivery);
  }

  /**
   * Hands the record to its handler. The caller has taken a free slot. Returns false if the lease has
   * ended.
   */
  #begin(queue: KeyQueue, delivery: LaneDelivery): boolean {
    const { processor, runtime, slots, observer } = this.parts;
    const now = runtime.monotonic();
    if (this.isLeaseOver(now)) {
      this.#queues.putBack(queue, delivery);
      void this.whenLeaseRenewed().then(() => this.processPending());
      return false;
    }
    delivery.readyAt(runtime.now(), now);
    let answer: Outcome | PromiseLike<Outcome>;
    try {
      answer = processor.process(delivery);
    } catch (error) {
      answer = failedOutcome(error);
    }
    if (!isPending(answer)) {
      this.#conclude(queue, delivery, answer);
      return true;
    }
    slots.take();
    this.#running.set(delivery, queue);
    delivery.begin(now);
    answer
      .then(
        (outcome) => this.#end(queue, delivery, outcome),
        (error: unknown) => this.#end(queue, delivery, failedOutcome(error)),
      )
      .then(undefined, (error: unknown) => this.#onInternalError(error));
    observer.onRunning(this);
    return true;
  }

  #end(queue: KeyQueue, delivery: LaneDelivery, outcome: Outcome): void {
    this.#running.delete(delivery);
    try {
      this.#conclude(queue, delivery, outcome);
    } finally {
      if (!this.#overdue.delete(delivery)) this.parts.slots.release();
      if (this.idle && this.#running.size === 0) this.#becomeIdle();
    }
    this.processPending();
  }

  #becomeIdle(): void {
    this.notifyIdle();
    if (this.phase !== 'ended') this.#reportProgress();
  }

  #conclude(queue: KeyQueue, delivery: LaneDelivery, outcome: Outcome): void {
    const { measures, runtime } = this.parts;
    const tookMs = measures ? runtime.monotonic() - delivery.readySince : 0;
    const unfinished = this.settle(delivery, outcome, tookMs, delivery.receivedAt + tookMs);
    if (this.phase === 'ended') return;
    if (unfinished) return this.#retryLater(queue, delivery, unfinished);
    queue.backoff = undefined;
    this.#waiting.end(delivery.record.offset);
    const { commits, committer, settings } = this.parts;
    this.#unreported++;
    const isSlice = this.#unreported >= settings.maxPollRecords;
    if (commits.after === 'record' || isSlice) this.#reportProgress();
    if (commits.waits) this.#blockUntil(queue, committer.whenStored(this));
    else this.#queues.free(queue);
  }

  #retryLater(queue: KeyQueue, { record }: LaneDelivery, unfinished: UnfinishedResult): void {
    const backoff = (queue.backoff ??= this.newBackoff());
    if (unfinished.kind === 'undecided') {
      this.#giveBack(queue, record.offset);
      return this.pausePartition(pauseFor(unfinished, backoff));
    }
    // A record that was handed back without a delay is redelivered as soon as the partition
    // resumes.
    if (this.phase !== 'open' && unfinished.kind === 'handed-back' && !unfinished.delayMs)
      return this.#giveBack(queue, record.offset);
    const { runtime, sessionIndex } = this.parts;
    const history = { ...this.historyOf(record.offset), wait: this.#waitOf(unfinished, backoff) };
    this.remember(record.offset, history);
    if (this.phase !== 'open') return this.#giveBack(queue, record.offset);
    const again = new LaneDelivery(record, history, runtime.now(), sessionIndex, this);
    this.received(again);
    this.#queues.putBack(queue, again);
  }

  #waitOf(unfinished: Exclude<UnfinishedResult, UndecidedRecord>, backoff: Backoff): RecordWait {
    const until = this.parts.runtime.monotonic() + redeliveryDelay(unfinished, backoff);
    if (unfinished.kind === 'handed-back') return { reason: 'delay', until };
    return { reason: 'backoff', until, error: unfinished.error };
  }

  /** Rewinds to this record. Waiting records are dropped and read again, like the record itself. */
  #giveBack(queue: KeyQueue, offset: number): void {
    this.dropWaiting();
    this.#rewindTo(offset);
    this.#queues.free(queue);
  }

  #blockUntil(queue: KeyQueue, over: Promise<unknown>): void {
    this.#blocked.add(queue);
    over
      .finally(() => this.#blocked.delete(queue))
      .then(() => this.#goOn(queue))
      .catch((error: unknown) => this.#onInternalError(error));
  }

  #goOn(queue: KeyQueue): void {
    this.#queues.free(queue);
    this.processPending();
  }

  /**
   * Frees the slot of a handler that exceeds maxPollIntervalMs. Otherwise a few handlers that never
   * end would stop the whole session.
   */
  async #freeWhenOverdue(delivery: LaneDelivery): Promise<void> {
    const { runtime, settings, slots } = this.parts;
    await waitForPreviousHandlers(runtime, [delivery], settings.maxPollIntervalMs);
    if (!this.#running.has(delivery) || this.#overdue.has(delivery)) return;
    this.#overdue.add(delivery);
    slots.release();
  }

  /**
   * Blocks the keys of handlers that still run for earlier assignments, so that no record overtakes
   * them.
   */
  #waitForPreviousHandlers(): void {
    const byKey = new Map<Key, LaneDelivery[]>();
    for (const delivery of this.parts.previousHandlers) {
      const key = keyOf(delivery.record, this.parts.by);
      byKey.set(key, [...(byKey.get(key) ?? []), delivery]);
    }
    const { runtime, settings } = this.parts;
    for (const [key, deliveries] of byKey) {
      const queue = this.#queues.block(key);
      this.#blockUntil(
        queue,
        waitForPreviousHandlers(runtime, deliveries, settings.maxPollIntervalMs),
      );
    }
  }

  #rewindTo(offset: number): void {
    const atWork = new Set(this.running.map(({ record }) => record.offset));
    this.tracker.rewindTo(offset, atWork);
  }

  #reportProgress(): void {
    this.#unreported = 0;
    this.parts.committer.request(this);
  }

  /**
   * Pauses the partition and tries again, because an internal error must not stop the partition
   * silently.
   */
  #onInternalError(error: unknown): void {
    this.dropWaiting();
    this.#queues.keepOnly(new Set([...this.#running.values(), ...this.#blocked]));
    if (this.phase === 'ended') return;
    this.#rewindTo(this.tracker.watermark);
    this.pausePartition(pauseFor({ kind: 'failed', error: asError(error) }, this.newBackoff()));
  }
}
