import type { AssignedPartition } from '@nest-event-bus/broker';
import type { Backoff } from '@nest-event-bus/broker/runtime';
import { asError } from '../../errors/as-error.js';
import { isFinal, type Outcome } from '../../model/outcomes/outcome.js';
import { failedOutcome, isPending, missingOutcome } from './outcome-guards.js';
import { LaneDelivery } from './lane-delivery.js';
import { pauseFor, type LaneParts, type UnfinishedResult } from './lane-parts.js';
import { PartitionLane } from './partition-lane.js';
import { PollIntervalSafetyValve } from './poll-interval-safety-valve.js';
import { waitForPreviousHandlers } from '../session/previous-handlers.js';

/** Hands out the records of its partition one after the other, or slice by slice. One that is set back holds them all. */
export class SerialLane extends PartitionLane {
  #isWorking = false;
  #hasProgress = false;
  #running: LaneDelivery | readonly LaneDelivery[] | undefined;
  /** Of the slice that the processor takes in stretches: what it has not come to yet. */
  #slice: readonly LaneDelivery[] = [];
  /** When the slice began: milliseconds since 1970. */
  #sliceAt = 0;
  /** The same by the monotonic clock. */
  #sliceSince = 0;
  #backoff: Backoff | undefined;
  #previousHandlers: readonly LaneDelivery[];
  readonly #valve: PollIntervalSafetyValve;

  constructor(assigned: AssignedPartition, parts: LaneParts) {
    super(assigned, parts);
    this.#previousHandlers = parts.previousHandlers;
    this.#valve = new PollIntervalSafetyValve(parts.runtime, parts.settings.maxPollIntervalMs);
  }

  get running(): readonly LaneDelivery[] {
    if (this.#running === undefined) return [];
    return this.#running instanceof LaneDelivery ? [this.#running] : this.#running;
  }

  get backlog(): number {
    return this.pending.size;
  }

  get isBufferFull(): boolean {
    return this.pending.size >= this.parts.settings.maxPollRecords || this.exceedsByteLimit;
  }

  processPending(): void {
    if (this.#isWorking || this.waitsForDueTime) return;
    if (this.isOpen && this.pending.size > 0) this.#work().catch(this.#onInternalError);
    // Nothing but records that were done already: the watermark has passed them.
    else if (this.isOpen && this.commitPoint()) this.parts.committer.request(this);
  }

  protected dropWaiting(): void {
    const waiting = this.pending.takeAll();
    const [first] = waiting;
    if (!first) return;
    this.dropped(waiting);
    this.tracker.rewindTo(first.record.offset);
  }

  async #work(): Promise<void> {
    this.#isWorking = true;
    const { processor, commits, committer, runtime, settings } = this.parts;
    if (this.#previousHandlers.length > 0) {
      await waitForPreviousHandlers(runtime, this.#previousHandlers, settings.maxPollIntervalMs);
      this.#previousHandlers = [];
    }
    const isStrict = commits.waits && commits.after === 'record';
    while (this.mayTake()) {
      this.#sliceAt = runtime.now();
      this.#sliceSince = runtime.monotonic();
      if (processor.processSlice) await this.#workOnSlice();
      else {
        // Inlined, and awaiting real promises only: a promise for each record would cost more than all else.
        for (let left = settings.maxPollRecords; left > 0 && this.mayTake(); left--) {
          const delivery = this.#take();
          let outcome: Outcome;
          // A handler that answers at once leaves others no time: the clock need not be asked.
          let mayBeLate = false;
          try {
            const answer = processor.process(delivery);
            mayBeLate = isPending(answer);
            outcome = isPending(answer) ? await this.#watched(delivery, answer) : answer;
          } catch (error) {
            outcome = failedOutcome(error);
          }
          this.#running = undefined;
          this.#conclude(delivery, outcome);
          if (this.isIdleAwaited) this.#becomeIdle();
          if (isStrict) await committer.whenStored(this);
          if (mayBeLate && left > 1 && this.#valve.check(this.#sliceSince)) {
            await this.#cutSlice();
            break;
          }
        }
      }
      this.#endSlice();
      if (commits.after === 'slice' && commits.waits) await committer.whenStored(this);
    }
    this.#isWorking = false;
  }

  /** What was read long ago, and waited for those before it, has its time from here on. */
  #take(): LaneDelivery {
    const delivery = this.pending.take();
    delivery.readyAt(this.#sliceAt, this.#sliceSince);
    return delivery;
  }

  /** Stretch by stretch: nothing of what is left is called off, too late or behind a record that stays. */
  async #workOnSlice(): Promise<void> {
    const slice: LaneDelivery[] = [];
    this.#slice = slice;
    while (slice.length < this.parts.settings.maxPollRecords && this.mayTake())
      slice.push(this.#take());
    while (this.#slice.length > 0) {
      const outcomes = await this.#outcomesOf(this.#slice);
      this.#running = undefined;
      this.#concludeSegment(outcomes);
      const [next] = this.#slice;
      if (!next) break;
      if (!this.isOpen) this.#giveBackSlice();
      else if (next.isCancelled) this.#redeliverRest();
      else if (this.#valve.check(this.#sliceSince)) await this.#cutSlice();
    }
    if (this.isIdleAwaited) this.#becomeIdle();
  }

  /** Behind a record that stays in its place nothing of the slice is begun. */
  #concludeSegment(outcomes: readonly Outcome[]): void {
    const segment = this.#slice.slice(0, outcomes.length);
    const unfinished: number[] = [];
    segment.forEach((delivery, index) => {
      const outcome = outcomes[index] ?? missingOutcome();
      if (isFinal(outcome) || this.hasEnded) this.#conclude(delivery, outcome);
      else unfinished.push(index);
    });
    this.#slice = this.#slice.slice(segment.length);
    if (unfinished.length === 0) return;
    this.#giveBackSlice();
    // The lane is rewound to the first that is unfinished, so that one goes last.
    for (const index of unfinished.toReversed())
      this.#conclude(segment[index] as LaneDelivery, outcomes[index] ?? missingOutcome(), {
        isFirst: index === unfinished[0],
      });
  }

  async #outcomesOf(slice: readonly LaneDelivery[]): Promise<readonly Outcome[]> {
    try {
      const answer = this.parts.processor.processSlice?.(slice) ?? [];
      const outcomes = (isPending(answer) ? await this.#watchedSlice(slice, answer) : answer) ?? [];
      if (outcomes.length > 0 || !this.isOpen || slice[0]?.isCancelled) return outcomes;
      // It would come to nothing the next time, too.
      return [missingOutcome()];
    } catch (error) {
      return slice.map(() => failedOutcome(error));
    }
  }

  /** It is read again, and so is what waits behind it. */
  #giveBackSlice(): void {
    const [first] = this.#slice;
    if (!first) return;
    this.dropWaiting();
    this.#forget(this.#slice);
    this.#slice = [];
    this.tracker.rewindTo(first.record.offset);
  }

  #forget(deliveries: readonly LaneDelivery[]): void {
    this.dropped(deliveries);
    for (const delivery of deliveries) delivery.end();
  }

  /** What is left of the slice, in another one. */
  #redeliverRest(): void {
    this.#giveBackSlice();
    this.dropWaiting();
    this.pausePartition({ kind: 'slice-cut' });
  }

  /** From here on others have a turn while the handler runs. */
  #watched(delivery: LaneDelivery, answer: PromiseLike<Outcome>): PromiseLike<Outcome> {
    this.#running = delivery;
    delivery.begin(this.parts.runtime.monotonic());
    this.parts.observer.onRunning(this);
    return answer;
  }

  #watchedSlice<T>(slice: readonly LaneDelivery[], answer: PromiseLike<T>): PromiseLike<T> {
    this.#running = slice;
    const now = this.parts.runtime.monotonic();
    slice.forEach((delivery, index) => delivery.begin(now, index === 0 ? slice.length : 0));
    this.parts.observer.onRunning(this);
    return answer;
  }

  #conclude(delivery: LaneDelivery, outcome: Outcome, { isFirst = true } = {}): void {
    const unfinished = this.settle(delivery, outcome);
    if (unfinished) return this.#rewindAndPause(delivery, unfinished, isFirst);
    if (this.hasEnded) return;
    this.#hasProgress = true;
    this.#backoff = undefined;
    const { commits, committer } = this.parts;
    if (commits.after === 'record') committer.request(this);
  }

  /** The partition waits, and goes on at this record: nothing overtakes it. */
  #rewindAndPause({ record }: LaneDelivery, unfinished: UnfinishedResult, isFirst: boolean): void {
    this.dropWaiting();
    this.tracker.rewindTo(record.offset);
    if (isFirst) this.pausePartition(pauseFor(unfinished, (this.#backoff ??= this.newBackoff())));
  }

  /** It took too long: what is done of it is committed, the rest is given back, to come in another one. */
  async #cutSlice(): Promise<void> {
    if (!this.isOpen || this.pending.size + this.#slice.length === 0) return;
    const { counters, committer } = this.parts;
    counters.sliceCut();
    this.#endSlice();
    await committer.whenStored(this);
    if (this.isOpen) this.#redeliverRest();
    else this.#giveBackSlice();
  }

  /** A mistake of our own must not end the partition silently: it is held, told and tried again. */
  readonly #onInternalError = (error: unknown): void => {
    this.#isWorking = false;
    const inHand = new Set([...this.running, ...this.#slice]);
    this.#forget([...inHand].filter(({ hasEnded }) => !hasEnded));
    this.#running = undefined;
    this.#slice = [];
    this.dropWaiting();
    this.notifyIdle();
    if (this.hasEnded) return;
    this.tracker.rewindTo(this.tracker.watermark);
    const unfinished = { kind: 'failed', error: asError(error) } as const;
    this.pausePartition(pauseFor(unfinished, (this.#backoff ??= this.newBackoff())));
  };

  #endSlice(): void {
    if (this.#hasProgress) {
      this.#hasProgress = false;
      if (!this.hasEnded) this.parts.committer.request(this);
    }
    this.notifyBufferSpace();
  }

  #becomeIdle(): void {
    if (this.isOpen && this.pending.size > 0) return;
    this.#endSlice();
    this.notifyIdle();
  }
}
