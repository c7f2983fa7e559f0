import type {
  AssignedPartition,
  BrokerRecord,
  OffsetCommit,
  TopicPartition,
} from '@nest-event-bus/broker';
import { Backoff, Deferred, sleep } from '@nest-event-bus/broker/runtime';
import type { Assignment, CommittingMember } from '../../model/records/assignment.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import { isOutcome, missingOutcome, redeliveryListenerOf } from './outcome-guards.js';
import type { DeliveryAbortedException } from '../../errors/delivery-errors.js';
import { DueWait } from './due-wait.js';
import type { Decision } from '../../model/outcomes/decision.js';
import {
  afterFailure,
  afterHandBack,
  FIRST_DELIVERY,
  withDecision,
  type DeliveryHistory,
} from '../../model/outcomes/delivery-history.js';
import { LaneDelivery } from './lane-delivery.js';
import type { LanePause, LaneParts, UnfinishedResult } from './lane-parts.js';
import type { LaneView } from '../../model/states/lane-view.js';
import type { OffsetTracker } from '../commits/offset-tracker.js';
import { partitionName } from './partition-name.js';
import { type CarriedCalls, PartitionProgress } from '../commits/partition-progress.js';
import { PendingQueue } from './pending-queue.js';
import type { WaitingRecords } from './waiting-records.js';

type Phase = 'open' | 'paused' | 'ended';

/**
 * Lane of one partition in one assignment, from the records that were read to what is to be
 * committed.
 *
 *   enqueue ──► pending ──► running ──► progress ──► commit point
 *                 │            └── failed, handed back ──► handed out again, later
 *                 └── pause, end: dropped, read again later
 *
 * A partition that is assigned again gets a new lane, so an outcome of the old lane never counts
 * for a delivery of the new one.
 */
export abstract class PartitionLane implements TopicPartition, Assignment {
  readonly topic: string;
  readonly partition: number;
  readonly name: string;
  /** True while the buffer is full and the partition is not fetched. */
  isBackpressured = false;
  protected readonly pending = new PendingQueue();
  protected readonly progress: PartitionProgress;
  readonly tracker: OffsetTracker;
  /** Only the lane sets it. */
  phase: Phase = 'open';
  protected idle: Deferred | undefined;
  readonly #due: DueWait | undefined;
  /** Histories of records that were handed out and are not finished. */
  readonly #histories = new Map<number, DeliveryHistory>();
  #bufferedBytes = 0;
  #interrupted: readonly LaneDelivery[] = [];
  #storesIdleProgress = false;
  #leaseRenewal: Promise<void> | undefined;

  constructor(
    assigned: AssignedPartition,
    protected readonly parts: LaneParts,
  ) {
    const { topic, partition } = assigned;
    this.topic = topic;
    this.partition = partition;
    this.name = partitionName(topic, partition);
    this.progress = new PartitionProgress(assigned, parts.progress);
    this.tracker = this.progress.tracker;
    const { processor, runtime } = parts;
    if (processor.dueAt)
      this.#due = new DueWait(
        runtime,
        (record, readAt) => processor.dueAt!(record, readAt),
        () => this.processPending(),
      );
  }

  /** Deliveries that a handler has not finished yet. */
  abstract get running(): readonly LaneDelivery[];

  /** Number of records that wait for their turn. */
  abstract get backlog(): number;

  /** True if fetching has to stop for this partition. */
  abstract get isBufferFull(): boolean;

  /**
   * Hands out pending records. Handlers that return no promise have finished when this method
   * returns.
   */
  abstract processPending(): void;

  /**
   * Deliveries that were running when the lane ended. Their outcomes do not move the watermark, and
   * their records are redelivered.
   */
  get interrupted(): readonly LaneDelivery[] {
    return this.#interrupted;
  }

  /** True while the lane waits because its first record is not due. */
  get waitsForDueTime(): boolean {
    return this.#due?.isWaiting ?? false;
  }

  /** Records that wait while other records continue; undefined for a serial lane. */
  get waiting(): WaitingRecords | undefined {
    return undefined;
  }

  /** Error that delays the completion of a record after its handler has returned. */
  get trouble(): Error | undefined {
    return this.running.find(({ trouble }) => trouble)?.trouble;
  }

  /** The last known committed offset, or the start position. */
  get committed(): number {
    return this.progress.committed;
  }

  get view(): LaneView {
    const { topic, partition, waitsForDueTime } = this;
    const { watermark } = this.tracker;
    const delivery = this.deliveryAt(watermark);
    const head = delivery && {
      offset: watermark,
      timestamp: delivery.record.timestamp,
      runningSince: this.#sinceEpoch(delivery.startedAt),
      failures: this.historyOf(watermark).failures,
    };
    return { topic, partition, watermark, head, waitsForDueTime };
  }

  /**
   * Adds the records with the indexes `from` to `to` (exclusive) of the array to the pending ones.
   * All of them belong to this partition.
   */
  enqueue(records: readonly BrokerRecord[], from: number, to: number, receivedAt: number): void {
    const { sessionIndex } = this.parts;
    for (let index = from; index < to; index++) {
      const record = records[index] as BrokerRecord;
      if (!this.progress.receive(record)) continue;
      if (this.progress.carriedCalls?.offset === record.offset)
        this.#carry(this.progress.carriedCalls);
      const history = this.#histories.size === 0 ? FIRST_DELIVERY : this.historyOf(record.offset);
      const delivery = new LaneDelivery(record, history, receivedAt, sessionIndex, this);
      this.pending.add(delivery);
      this.received(delivery);
    }
  }

  /**
   * Moves to the position of the driver, past offsets without records. They are committed as soon as
   * all earlier records are done.
   */
  advanceTo(position: number): void {
    this.tracker.advanceTo(position);
    this.processPending();
  }

  /** Finds the delivery of an unfinished record; undefined if the lane does not hold the record. */
  protected deliveryAt(offset: number): LaneDelivery | undefined {
    if (this.pending.first?.record.offset === offset) return this.pending.first;
    return this.running.find(({ record }) => record.offset === offset);
  }

  /** Returns whether the record has failed in this assignment and is not finished. */
  hasFailed(offset: number): boolean {
    return this.historyOf(offset).failures > 0;
  }

  /** Sets the decision about a record whose partition waited for it. */
  decide(offset: number, decision: Decision): void {
    this.#histories.set(offset, withDecision(this.historyOf(offset), decision));
  }

  /**
   * True while the group cannot have given the partition to another member: see `isLeaseOver`. Every
   * read of this property reads the clock.
   */
  get holdsLease(): boolean {
    return !this.isLeaseOver(this.parts.runtime.monotonic());
  }

  /**
   * Stops handing out. Pending records are dropped, and will be read again from `tracker.next` on.
   */
  pause(): void {
    if (this.phase === 'open') this.phase = 'paused';
    this.#dropBuffered();
  }

  resume(): void {
    if (this.phase === 'paused') this.phase = 'open';
  }

  /** Ends the lane. Outcomes that arrive later do not move the watermark. */
  end(): void {
    if (this.phase !== 'ended') this.#interrupted = this.running;
    this.phase = 'ended';
    this.#dropBuffered();
  }

  /** Approximate memory of the records that were received and are not finished. */
  get bufferedBytes(): number {
    return this.#bufferedBytes;
  }

  stopCommitting(): void {
    this.progress.stopCommitting();
  }

  commitHeldStart(): void {
    this.progress.commitHeldStart();
  }

  commitStart(offset: number): void {
    this.progress.commitStart(offset);
  }

  abort(reason: DeliveryAbortedException): void {
    for (const delivery of this.running) delivery.abort(reason);
  }

  abortWaits(reason: DeliveryAbortedException): void {
    for (const delivery of this.running) delivery.abortWaits(reason);
  }

  /** Resolves when no handler runs. Only called for a lane that is paused or has ended. */
  whenIdle(): Promise<void> {
    if (this.running.length === 0) return Promise.resolve();
    return (this.idle ??= new Deferred()).promise;
  }

  /** Returns the offset to commit; undefined if nothing changed since the last commit. */
  commitPoint(): OffsetCommit | undefined {
    if (this.parts.commits.yields && this.running.length > 0) return undefined;
    // The next owner continues to count the calls of the first unfinished record.
    const calls = this.phase === 'ended' && !this.parts.commits.yields;
    return this.progress.commitPoint(
      calls ? this.historyOf(this.tracker.watermark).calls : undefined,
    );
  }

  member(): CommittingMember | undefined {
    return this.phase === 'ended' ? undefined : this.parts.membership?.member(this);
  }

  get isCommittingStopped(): boolean {
    return this.progress.isCommittingStopped;
  }

  async stored(): Promise<number> {
    return (await this.parts.membership?.stored(this)) ?? 0;
  }

  confirm(commit: OffsetCommit): void {
    this.progress.confirm(commit);
    this.notifyBufferSpace();
  }

  /** Counts the record and its bytes as in flight. */
  protected received(delivery: LaneDelivery): void {
    this.parts.counters.received();
    this.#bufferedBytes += bytesOf(delivery);
  }

  /**
   * Counts dropped records as handed back. They are read again, by this member or by the next
   * owner.
   */
  protected dropped(deliveries: readonly LaneDelivery[]): void {
    this.parts.counters.dropped(deliveries.length);
    for (const delivery of deliveries) this.#bufferedBytes -= bytesOf(delivery);
  }

  /**
   * The limits for "full" and for "free again" are far apart, so that fetching does not stop and
   * start for each record.
   */
  protected get exceedsByteLimit(): boolean {
    const { bytesPerPartition } = this.parts.bufferLimit;
    return (
      this.#bufferedBytes >= (this.isBackpressured ? bytesPerPartition / 2 : bytesPerPartition)
    );
  }

  /**
   * Returns whether the group may have given the partition to another member without telling this
   * one, as happens to a process that was suspended.
   */
  protected isLeaseOver(now: number): boolean {
    const { membership } = this.parts;
    return membership !== undefined && now > membership.session.leaseUntil;
  }

  /**
   * Resolves when the group has answered again, or when the lane may hand out nothing for another
   * reason, such as the loss of its partition.
   */
  protected whenLeaseRenewed(): Promise<void> {
    this.#leaseRenewal ??= this.#waitForLease().finally(() => (this.#leaseRenewal = undefined));
    return this.#leaseRenewal;
  }

  async #waitForLease(): Promise<void> {
    const { runtime } = this.parts;
    do await sleep(runtime, LEASE_CHECK_MS, undefined, { background: true });
    while (this.phase === 'open' && !this.holdsLease);
  }

  /**
   * Commits progress that no record has caused: the watermark has passed offsets without records, or
   * records that an earlier owner completed.
   *
   * A transaction must not begin meanwhile: a commit that is repeated after the transaction would
   * take its offset back.
   */
  protected commitIdleProgress(): void {
    const { committer, commits } = this.parts;
    if (!commits.yields) return committer.request(this);
    if (this.#storesIdleProgress) return;
    this.#storesIdleProgress = true;
    void committer.whenStored(this).finally(() => {
      this.#storesIdleProgress = false;
      if (this.pending.size > 0) this.processPending();
    });
  }

  /**
   * Drops the records that wait for their turn. Afterwards they count neither as finished nor as in
   * flight.
   */
  protected abstract dropWaiting(): void;

  /** Returns whether the first pending record may be handed out. */
  protected mayTake(): boolean {
    const { first } = this.pending;
    if (this.phase !== 'open' || !first || this.#storesIdleProgress) return false;
    return this.#due === undefined || this.#due.isDue(first);
  }

  /** Continues to count the calls that an earlier owner has made. */
  #carry({ offset, calls }: CarriedCalls): void {
    if (this.#histories.has(offset)) return;
    this.#histories.set(offset, { ...FIRST_DELIVERY, calls });
  }

  protected historyOf(offset: number): DeliveryHistory {
    return this.#histories.get(offset) ?? FIRST_DELIVERY;
  }

  protected remember(offset: number, history: DeliveryHistory): void {
    this.#histories.set(offset, history);
  }

  /**
   * Counts and measures the outcome of a delivery. `tookMs` is its time in the pipeline, `endedAt` is
   * in milliseconds since 1970. Returns a result if the record is not finished.
   */
  protected settle(
    delivery: LaneDelivery,
    given: Outcome | undefined,
    tookMs: number,
    endedAt: number,
  ): UnfinishedResult | undefined {
    const outcome = isOutcome(given) ? given : missingOutcome();
    this.parts.counters.settled(outcome);
    this.parts.measures?.settled(outcome.kind, delivery.record, tookMs, endedAt);
    this.#bufferedBytes -= bytesOf(delivery);
    delivery.end();
    if (this.phase === 'ended') {
      redeliveryListenerOf(outcome)?.(undefined);
      this.parts.observer.onLate(this, delivery, outcome);
      return undefined;
    }
    const { offset } = delivery.record;
    switch (outcome.kind) {
      case 'succeeded':
      case 'discarded':
      case 'retried':
      case 'dead-lettered':
        this.progress.tracker.complete(offset);
        if (this.#histories.size > 0) this.#histories.delete(offset);
        return undefined;
      case 'failed': {
        this.#histories.set(offset, afterFailure(delivery.history, outcome));
        const { error, delayMs } = outcome;
        return outcome.reason === 'awaiting-decision'
          ? { kind: 'undecided', error, offset }
          : { kind: 'failed', error, delayMs, onRedelivery: redeliveryListenerOf(outcome) };
      }
      case 'handed-back': {
        this.#histories.set(offset, afterHandBack(delivery.history, outcome.calls));
        return { kind: 'handed-back', delayMs: outcome.delayMs };
      }
    }
  }

  /** Pauses the whole partition. */
  protected pausePartition(pause: LanePause): void {
    if (this.phase === 'open') this.phase = 'paused';
    this.parts.observer.onPause(this, pause);
  }

  protected newBackoff(): Backoff {
    return new Backoff(this.parts.runtime, this.parts.settings.failureBackoff);
  }

  /** Resolves `whenIdle` after the last outcome was added to the progress. */
  protected notifyIdle(): void {
    this.idle?.resolve();
    this.idle = undefined;
  }

  protected notifyBufferSpace(): void {
    if (this.isBackpressured && !this.isBufferFull) this.parts.observer.onBufferSpace(this);
  }

  /** Turns a time of the monotonic clock into milliseconds since 1970. */
  #sinceEpoch(time: number | undefined): number | undefined {
    const { runtime } = this.parts;
    return time === undefined ? undefined : runtime.now() - Math.round(runtime.monotonic() - time);
  }

  #dropBuffered(): void {
    this.#due?.cancel();
    this.dropWaiting();
  }
}

/**
 * Interval at which a lane without a lease checks whether the group has answered. A heartbeat or a
 * loss follows within milliseconds after a suspended process has resumed.
 */
const LEASE_CHECK_MS = 50;

/** Approximate size of the objects that hold a record. */
const RECORD_OVERHEAD_BYTES = 400;

function bytesOf({ record }: LaneDelivery): number {
  return record.sizeInBytes + RECORD_OVERHEAD_BYTES;
}
