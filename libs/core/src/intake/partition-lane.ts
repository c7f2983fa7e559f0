import type {
  AssignedPartition,
  BrokerRecord,
  OffsetCommit,
  TopicPartition,
} from '@nest-event-bus/broker';
import { Backoff, Deferred } from '@nest-event-bus/broker/runtime';
import type { Outcome } from '../model/outcome.js';
import { asError, failedBy, isFinal, isOutcome, isPending, noOutcome } from './answers.js';
import type { DeliveryAbortedException } from './delivery-aborted-exception.js';
import { LaneDelivery, NO_PAST, type Past } from './lane-delivery.js';
import type { LaneParts, Setback } from './lane-parts.js';
import { LeaderEpochs } from './leader-epochs.js';
import { OffsetTracker } from './offset-tracker.js';
import { nameOf } from './partition-name.js';

type Phase = 'open' | 'held' | 'ended';

/**
 * One assignment of one partition: its records go to the handler one after the other.
 *
 *   offer ──► pending ──► running ──► tracker.complete ──► commit point
 *               │            └── failed, handed back ──► rewind, held until released
 *               └── hold, end: dropped, read again later
 *
 * Assigned again, the partition gets another lane; what ends in this one is never taken for a
 * delivery of that one.
 */
export class PartitionLane implements TopicPartition {
  readonly topic: string;
  readonly partition: number;
  readonly name: string;
  readonly tracker: OffsetTracker;
  /** More is buffered than is good: nothing is asked for meanwhile. */
  isCrowded = false;
  readonly #epochs: LeaderEpochs;
  /** Of records that were handed out and are not done. */
  readonly #pasts = new Map<number, Past>();
  #phase: Phase = 'open';
  #pending: LaneDelivery[] = [];
  #head = 0;
  #isWorking = false;
  #hasProgress = false;
  #running: LaneDelivery | readonly LaneDelivery[] | undefined;
  #runningSince = 0;
  #quiet: Deferred | undefined;
  #predecessor: Promise<void> | undefined;
  #backoff: Backoff | undefined;
  #committed: number;
  #isDisowned = false;

  constructor(
    { topic, partition, position, committed }: AssignedPartition,
    private readonly parts: LaneParts,
  ) {
    this.topic = topic;
    this.partition = partition;
    this.name = nameOf(topic, partition);
    this.tracker = new OffsetTracker(position);
    this.#epochs = new LeaderEpochs(committed?.leaderEpoch ?? -1);
    this.#committed = position;
    this.#predecessor = parts.predecessor;
  }

  get isHeld(): boolean {
    return this.#phase === 'held';
  }

  get hasEnded(): boolean {
    return this.#phase === 'ended';
  }

  /** Records that wait for their turn. */
  get backlog(): number {
    return this.#pending.length - this.#head;
  }

  /** Those that a handler has and has not answered yet. */
  get running(): readonly LaneDelivery[] {
    if (this.#running === undefined) return [];
    return this.#running instanceof LaneDelivery ? [this.#running] : this.#running;
  }

  /** By the monotonic clock; undefined when no handler runs. */
  get runningSince(): number | undefined {
    return this.#running === undefined ? undefined : this.#runningSince;
  }

  /** What was last known to be committed, or where it started. */
  get committed(): number {
    return this.#committed;
  }

  /** Takes the records from..to of the array, all of this partition. */
  offer(records: readonly BrokerRecord[], from: number, to: number, receivedAt: number): void {
    const { tally, sessionIndex } = this.parts;
    for (let index = from; index < to; index++) {
      const record = records[index] as BrokerRecord;
      if (!this.tracker.receive(record.offset)) continue;
      this.#epochs.note(record.offset, record.leaderEpoch);
      const past = this.#pasts.size === 0 ? NO_PAST : this.#pasts.get(record.offset);
      this.#pending.push(new LaneDelivery(record, past ?? NO_PAST, receivedAt, sessionIndex));
      tally.received();
    }
  }

  /** Goes on with what is pending; what can be done at once is done when this returns. */
  run(): void {
    if (this.#isWorking) return;
    if (this.#canGoOn()) this.#work().catch(this.#onBroken);
    // Nothing but records that were done already: the watermark has passed them.
    else if (this.#phase === 'open' && this.commitPoint()) this.parts.observer.onDone(this);
  }

  /** Nothing more is handed out. What is pending is dropped, to be read again from `tracker.next` on. */
  hold(): void {
    if (this.#phase === 'open') this.#phase = 'held';
    this.#dropPending();
  }

  release(): void {
    if (this.#phase === 'held') this.#phase = 'open';
  }

  /** The assignment is over, or its time is: what ends from now on does not move the watermark. */
  end(): void {
    this.#phase = 'ended';
    this.#dropPending();
  }

  /** Its offsets are those of another log: to commit one would hide records of the one that is there now. */
  disown(): void {
    this.#isDisowned = true;
  }

  abort(reason: DeliveryAbortedException): void {
    for (const delivery of this.running) delivery.abort(reason);
  }

  abortWaits(reason: DeliveryAbortedException): void {
    for (const delivery of this.running) delivery.abortWaits(reason);
  }

  /** Resolves when no handler runs. Asked of a lane that is held or has ended. */
  whenQuiet(): Promise<void> {
    if (this.#running === undefined) return Promise.resolve();
    return (this.#quiet ??= new Deferred()).promise;
  }

  /** What is to be committed; undefined when nothing is new. */
  commitPoint(): OffsetCommit | undefined {
    const { watermark } = this.tracker;
    if (this.#isDisowned || watermark <= this.#committed) return undefined;
    const { topic, partition } = this;
    return { topic, partition, offset: watermark, leaderEpoch: this.#epochs.before(watermark) };
  }

  confirm(offset: number): void {
    if (offset > this.#committed) this.#committed = offset;
  }

  #canGoOn(): boolean {
    return this.#phase === 'open' && this.#head < this.#pending.length;
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    if (this.#predecessor) {
      await this.#predecessor;
      this.#predecessor = undefined;
    }
    const { processor } = this.parts;
    while (this.#canGoOn()) {
      if (processor.processSlice) await this.#workOnSlice();
      else {
        // Inlined, and awaiting real promises only: a promise for each record would cost more than all else.
        for (let left = this.parts.settings.maxPollRecords; left > 0 && this.#canGoOn(); left--) {
          const delivery = this.#take();
          let outcome: Outcome;
          try {
            const answer = processor.process(delivery);
            outcome = isPending(answer) ? await this.#watched(delivery, answer) : answer;
          } catch (error) {
            outcome = failedBy(error);
          }
          this.#running = undefined;
          this.#settle(delivery, outcome);
          if (this.#quiet) this.#becomeQuiet();
        }
      }
      this.#endSlice();
    }
    this.#isWorking = false;
  }

  async #workOnSlice(): Promise<void> {
    const slice: LaneDelivery[] = [];
    while (slice.length < this.parts.settings.maxPollRecords && this.#canGoOn())
      slice.push(this.#take());
    const outcomes = await this.#outcomesOf(slice);
    this.#running = undefined;
    // The lane is rewound to the first that is unfinished, so that one goes last.
    const unfinished: number[] = [];
    slice.forEach((delivery, index) => {
      const outcome = outcomes[index] ?? noOutcome();
      if (isFinal(outcome) || this.hasEnded) this.#settle(delivery, outcome);
      else unfinished.push(index);
    });
    for (const index of unfinished.toReversed())
      this.#settle(slice[index] as LaneDelivery, outcomes[index] ?? noOutcome(), {
        isFirst: index === unfinished[0],
      });
    if (this.#quiet) this.#becomeQuiet();
  }

  async #outcomesOf(slice: readonly LaneDelivery[]): Promise<readonly Outcome[]> {
    try {
      const answer = this.parts.processor.processSlice?.(slice) ?? [];
      return (isPending(answer) ? await this.#watched(slice, answer) : answer) ?? [];
    } catch (error) {
      return slice.map(() => failedBy(error));
    }
  }

  /** A mistake of our own must not end the partition silently: it is held, told and tried again. */
  readonly #onBroken = (error: unknown): void => {
    this.#isWorking = false;
    this.#running = undefined;
    this.#dropPending();
    if (this.#phase === 'ended') return;
    this.tracker.rewindTo(this.tracker.watermark);
    this.#setBack({ kind: 'failed', error: asError(error), delayMs: this.#nextDelay() });
  };

  #take(): LaneDelivery {
    const delivery = this.#pending[this.#head++] as LaneDelivery;
    if (this.#head === this.#pending.length) {
      this.#pending.length = 0;
      this.#head = 0;
    }
    return delivery;
  }

  /** From here on others have a turn while the handler runs. */
  #watched<T>(running: LaneDelivery | readonly LaneDelivery[], answer: PromiseLike<T>) {
    this.#running = running;
    this.#runningSince = this.parts.runtime.monotonic();
    this.parts.observer.onRunning(this);
    return answer;
  }

  #settle(delivery: LaneDelivery, given: Outcome | undefined, { isFirst = true } = {}): void {
    const outcome = isOutcome(given) ? given : noOutcome();
    this.parts.tally.settled(outcome.kind);
    if (this.#phase === 'ended') return this.parts.observer.onLate(this, delivery, outcome);
    switch (outcome.kind) {
      case 'succeeded':
      case 'discarded':
        return this.#complete(delivery.record.offset);
      case 'failed':
        this.#retract(delivery, delivery.after(outcome));
        if (isFirst)
          this.#setBack({
            kind: 'failed',
            error: outcome.error,
            delayMs: outcome.delayMs ?? this.#nextDelay(),
          });
        return;
      case 'handed-back': {
        this.#retract(delivery, delivery.after());
        const { delayMs = 0 } = outcome;
        const isChosen = delayMs > 0;
        // Without a delay of its own, a handler that gives everything back would spin.
        if (isFirst)
          this.#setBack({
            kind: 'handed-back',
            isChosen,
            delayMs: isChosen ? delayMs : this.#nextDelay(),
          });
      }
    }
  }

  #complete(offset: number): void {
    this.tracker.complete(offset);
    this.#hasProgress = true;
    if (this.#pasts.size > 0) this.#pasts.delete(offset);
    this.#backoff = undefined;
    if (this.parts.settings.commitsEachRecord) this.parts.observer.onDone(this);
  }

  #retract({ record: { offset } }: LaneDelivery, past: Past): void {
    this.#pasts.set(offset, past);
    this.#dropPending();
    this.tracker.rewindTo(offset);
  }

  #setBack(setback: Setback): void {
    if (this.#phase === 'open') this.#phase = 'held';
    this.parts.observer.onSetback(this, setback);
  }

  #nextDelay(): number {
    this.#backoff ??= new Backoff(this.parts.runtime, this.parts.settings.failureBackoff);
    return this.#backoff.next();
  }

  #dropPending(): void {
    const first = this.#pending[this.#head];
    if (!first) return;
    this.parts.tally.dropped(this.backlog);
    this.tracker.rewindTo(first.record.offset);
    this.#pending.length = 0;
    this.#head = 0;
  }

  #endSlice(): void {
    const { observer, settings } = this.parts;
    if (this.#hasProgress) {
      this.#hasProgress = false;
      if (this.#phase !== 'ended') observer.onDone(this);
    }
    if (this.isCrowded && this.backlog < settings.maxPollRecords) observer.onRoom(this);
  }

  #becomeQuiet(): void {
    if (this.#phase === 'open' && this.backlog > 0) return;
    // What has just ended can be committed by whoever waited for it.
    this.#endSlice();
    this.#quiet?.resolve();
    this.#quiet = undefined;
  }
}
