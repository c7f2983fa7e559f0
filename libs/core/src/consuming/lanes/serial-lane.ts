import type { AssignedPartition } from '@nest-event-bus/broker';
import type { Backoff } from '@nest-event-bus/broker/runtime';
import { asError } from '../../errors/as-error.js';
import {
  isFinal,
  isHandedBackWithoutDelay,
  isRedeliveredAtOnce,
  type Outcome,
  type SliceOutcome,
} from '../../model/outcomes/outcome.js';
import {
  failedOutcome,
  isPending,
  missingOutcome,
  redeliveryListenerOf,
} from './outcome-guards.js';
import { LaneDelivery } from './lane-delivery.js';
import { pauseFor, type LaneParts, type UnfinishedResult } from './lane-parts.js';
import { PartitionLane } from './partition-lane.js';
import { PollIntervalSafetyValve } from './poll-interval-safety-valve.js';
import { waitForPreviousHandlers } from '../session/previous-handlers.js';

interface UnfinishedDelivery {
  readonly delivery: LaneDelivery;
  readonly outcome: Outcome;
}

interface WrittenDelivery {
  readonly delivery: LaneDelivery;
  readonly outcome: Promise<Outcome>;
}

/**
 * Hands out the records of its partition one by one, or slice by slice. A failed record blocks all
 * later ones.
 */
export class SerialLane extends PartitionLane {
  #isWorking = false;
  /** True if the slice has completed records that no commit was requested for. */
  #hasProgress = false;
  #running: LaneDelivery | readonly LaneDelivery[] | undefined;
  /** Records of the slice that are being written to another topic, in their order. */
  #beingWritten: WrittenDelivery[] = [];
  #hasFailedWrite = false;
  /** Records of the slice that were not passed to the processor yet. */
  #slice: readonly LaneDelivery[] = [];
  /** Start of the slice, in milliseconds since 1970. */
  #sliceAt = 0;
  /** Start of the slice by the monotonic clock. */
  #sliceSince = 0;
  /** Start of the current record, or of the current segment, by the monotonic clock. */
  #begunAt = 0;
  /** Time that the current record took, or each record of the current segment. */
  #tookMs = 0;
  #backoff: Backoff | undefined;
  #previousHandlers: readonly LaneDelivery[];
  readonly #valve: PollIntervalSafetyValve;

  constructor(assigned: AssignedPartition, parts: LaneParts) {
    super(assigned, parts);
    this.#previousHandlers = parts.previousHandlers;
    this.#valve = new PollIntervalSafetyValve(parts.settings.maxPollIntervalMs);
  }

  get running(): readonly LaneDelivery[] {
    const running = this.#running ?? [];
    const called = running instanceof LaneDelivery ? [running] : running;
    if (this.#beingWritten.length === 0) return called;
    return [...this.#beingWritten.map(({ delivery }) => delivery), ...called];
  }

  get backlog(): number {
    return this.pending.size;
  }

  get isBufferFull(): boolean {
    return this.pending.size >= this.parts.settings.maxPollRecords || this.exceedsByteLimit;
  }

  processPending(): void {
    if (this.#isWorking || this.waitsForDueTime) return;
    if (this.phase === 'open' && this.pending.size > 0) this.#work().catch(this.#onInternalError);
    else if (this.phase === 'open' && this.commitPoint()) this.commitIdleProgress();
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
    const { processor, commits, committer, measures, runtime, settings } = this.parts;
    if (this.#previousHandlers.length > 0) {
      await waitForPreviousHandlers(runtime, this.#previousHandlers, settings.maxPollIntervalMs);
      this.#previousHandlers = [];
    }
    const isStrict = commits.waits && commits.after === 'record';
    while (this.mayTake()) {
      this.#sliceAt = runtime.now();
      this.#sliceSince = runtime.monotonic();
      this.#begunAt = this.#sliceSince;
      if (this.isLeaseOver(this.#sliceSince)) {
        await this.whenLeaseRenewed();
        continue;
      }
      if (processor.processSlice) await this.#workOnSlice();
      else {
        // The loop is inlined and awaits only real promises, because one promise per record would
        // cost more than everything else.
        for (let left = settings.maxPollRecords; left > 0 && this.mayTake(); left--) {
          const delivery = this.#take();
          let outcome: Outcome;
          // The clock is not read after a handler that returned no promise, because hardly any time
          // has passed.
          let mayBeLate = isStrict;
          try {
            const answer = processor.process(delivery);
            mayBeLate ||= isPending(answer);
            outcome = isPending(answer) ? await this.#watched(delivery, answer) : answer;
          } catch (error) {
            outcome = failedOutcome(error);
          }
          this.#running = undefined;
          if (measures) this.#measure(1);
          this.#conclude(delivery, outcome);
          if (this.idle) this.#becomeIdle();
          if (isStrict) await committer.whenStored(this);
          if (!mayBeLate || left === 1) continue;
          const now = runtime.monotonic();
          this.#begunAt = now;
          if (this.isLeaseOver(now)) break;
          if (this.#valve.check(this.#sliceSince, now)) {
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

  /** Ends the measurement of the current records, and begins that of the next ones. */
  #measure(records: number): void {
    const now = this.parts.runtime.monotonic();
    this.#tookMs = (now - this.#begunAt) / records;
    this.#begunAt = now;
  }

  /**
   * Measures a call with several records. Nobody knows which part of the time was for which record,
   * so each record counts with its share, and the sum is the time of the call.
   */
  #measureSegment(records: number): void {
    this.#measure(Math.max(records, 1));
    if (records > 0 && this.parts.settings.listenerType === 'BATCH')
      this.parts.measures?.batch(records);
  }

  #settle(delivery: LaneDelivery, outcome: Outcome): UnfinishedResult | undefined {
    return this.settle(
      delivery,
      outcome,
      this.#tookMs,
      this.#sliceAt + (this.#begunAt - this.#sliceSince),
    );
  }

  /** Takes the first pending record. Its retry budget starts with its slice, not with the poll. */
  #take(): LaneDelivery {
    const delivery = this.pending.take();
    delivery.readyAt(this.#sliceAt, this.#sliceSince);
    return delivery;
  }

  /**
   * Passes the slice to the processor in segments, so that a pause, a timeout or an unfinished
   * record stops the later segments.
   */
  async #workOnSlice(): Promise<void> {
    const { measures, runtime } = this.parts;
    const slice: LaneDelivery[] = [];
    this.#slice = slice;
    while (slice.length < this.parts.settings.maxPollRecords && this.mayTake())
      slice.push(this.#take());
    while (this.#slice.length > 0) {
      if (measures) this.#begunAt = runtime.monotonic();
      const outcomes = await this.#outcomesOf(this.#slice);
      this.#running = undefined;
      if (measures) this.#measureSegment(outcomes.length);
      await this.#concludeSegment(outcomes);
      const [next] = this.#slice;
      if (!next) break;
      if (this.phase !== 'open') this.#giveBackSlice();
      // The lease may have ended, too.
      else if (next.isCancelled) this.#redeliverRest();
      else if (this.#valve.check(this.#sliceSince, this.parts.runtime.monotonic()))
        await this.#cutSlice();
    }
    if (this.#beingWritten.length > 0) this.#concludeUnfinished(await this.#whenWritten());
    if (this.idle) this.#becomeIdle();
  }

  /**
   * Settles the outcomes of a segment. If a record is not finished, the later records of the slice
   * are handed back, unless it can be delivered again from memory.
   */
  async #concludeSegment(outcomes: readonly SliceOutcome[]): Promise<void> {
    const segment = this.#slice.slice(0, outcomes.length);
    const unfinished: UnfinishedDelivery[] = [];
    segment.forEach((delivery, index) => {
      const outcome = outcomes[index] ?? missingOutcome();
      if (outcome instanceof Promise) this.#writeAhead(delivery, outcome);
      else if (isFinal(outcome) || this.phase === 'ended') this.#conclude(delivery, outcome);
      else unfinished.push({ delivery, outcome });
    });
    this.#slice = this.#slice.slice(segment.length);
    if (unfinished.length === 0 && !this.#hasFailedWrite) return;
    if (!this.#hasFailedWrite && mayStayInMemory(unfinished))
      return this.#redeliverFromMemory(unfinished);
    // A rewind must not read a record again that is still being written.
    const notWritten = await this.#whenWritten();
    this.#giveBackSlice();
    this.#concludeUnfinished([...notWritten, ...unfinished]);
  }

  /** Lets the records after this one begin before a topic has acknowledged this one. */
  #writeAhead(delivery: LaneDelivery, outcome: Promise<Outcome>): void {
    delivery.onHandlerReturned();
    this.#beingWritten.push({ delivery, outcome });
    void outcome.then((result) => {
      if (!isFinal(result)) this.#hasFailedWrite = true;
    });
  }

  /** Settles the records that were being written, and returns those that could not be written. */
  async #whenWritten(): Promise<readonly UnfinishedDelivery[]> {
    const written = await Promise.all(
      this.#beingWritten.map(async ({ delivery, outcome }) => ({
        delivery,
        outcome: await outcome,
      })),
    );
    this.#beingWritten = [];
    this.#hasFailedWrite = false;
    const unfinished: UnfinishedDelivery[] = [];
    for (const each of written) {
      if (isFinal(each.outcome) || this.phase === 'ended')
        this.#conclude(each.delivery, each.outcome);
      else unfinished.push(each);
    }
    return unfinished;
  }

  /**
   * Rewinds for each unfinished record, and pauses the partition. The first record is handled last,
   * so that the lane ends there. None stays in memory, because the driver reads on from where the
   * pause puts it.
   */
  #concludeUnfinished(unfinished: readonly UnfinishedDelivery[]): void {
    const inOrder = unfinished.toSorted(
      (one, other) => one.delivery.record.offset - other.delivery.record.offset,
    );
    for (const { delivery, outcome } of inOrder.toReversed()) {
      const left = this.#settle(delivery, outcome);
      if (left) this.#rewindAndPause(delivery, left, delivery === inOrder[0]?.delivery);
    }
  }

  /** Puts unfinished records before the later ones of the slice. Each history counts this delivery. */
  #redeliverFromMemory(unfinished: readonly UnfinishedDelivery[]): void {
    const again = unfinished.map(({ delivery, outcome }) => {
      this.#settle(delivery, outcome);
      return this.#nextDelivery(delivery, outcome);
    });
    this.#slice = [...again, ...this.#slice];
  }

  #nextDelivery(
    { record, receivedAt, sessionIndex, assignment }: LaneDelivery,
    outcome: Outcome,
  ): LaneDelivery {
    redeliveryListenerOf(outcome)?.(0);
    const history = this.historyOf(record.offset);
    const next = new LaneDelivery(record, history, receivedAt, sessionIndex, assignment);
    next.readyAt(this.#sliceAt, this.#sliceSince);
    this.received(next);
    return next;
  }

  async #outcomesOf(slice: readonly LaneDelivery[]): Promise<readonly SliceOutcome[]> {
    try {
      const answer = this.parts.processor.processSlice?.(slice) ?? [];
      const outcomes = (isPending(answer) ? await this.#watchedSlice(slice, answer) : answer) ?? [];
      if (outcomes.length > 0 || this.phase !== 'open' || slice[0]?.isCancelled) return outcomes;
      // A processor that returned no outcome would return none again, so the slice counts as
      // failed.
      return [missingOutcome()];
    } catch (error) {
      return slice.map(() => failedOutcome(error));
    }
  }

  /**
   * Rewinds to the first unfinished record of the slice. That record and all later ones are read
   * again, except those that are still being written.
   */
  #giveBackSlice(): void {
    const [first] = this.#slice;
    if (!first) return;
    this.dropWaiting();
    this.#forget(this.#slice);
    this.#slice = [];
    const beingWritten = this.#beingWritten.map(({ delivery }) => delivery.record.offset);
    this.tracker.rewindTo(first.record.offset, new Set(beingWritten));
  }

  #forget(deliveries: readonly LaneDelivery[]): void {
    this.dropped(deliveries);
    for (const delivery of deliveries) delivery.end();
  }

  /** Rewinds, so that the unfinished records of the slice are read again in another slice. */
  #redeliverRest(): void {
    this.#giveBackSlice();
    this.dropWaiting();
    this.pausePartition({ kind: 'slice-cut' });
  }

  /**
   * Marks the delivery as running, because its handler is asynchronous and other code runs from now
   * on.
   */
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

  #conclude(delivery: LaneDelivery, outcome: Outcome): void {
    const unfinished = this.#settle(delivery, outcome);
    if (unfinished && this.phase === 'open' && isRedeliveredAtOnce(outcome))
      return this.pending.putBack(this.#nextDelivery(delivery, outcome));
    if (unfinished) return this.#rewindAndPause(delivery, unfinished, true);
    if (this.phase === 'ended') return;
    this.#backoff = undefined;
    const { commits, committer } = this.parts;
    if (commits.after === 'record') committer.request(this);
    else this.#hasProgress = true;
  }

  /** Rewinds to this record and pauses the partition, so that no later record overtakes it. */
  #rewindAndPause({ record }: LaneDelivery, unfinished: UnfinishedResult, isFirst: boolean): void {
    this.dropWaiting();
    this.tracker.rewindTo(record.offset);
    if (isFirst) this.pausePartition(pauseFor(unfinished, (this.#backoff ??= this.newBackoff())));
    // A later record of the slice has no delay of its own: it is read again after the first one.
    else if (unfinished.kind === 'failed') unfinished.onRedelivery?.(undefined);
  }

  /**
   * Ends a slice that takes too long: commits its completed records, and hands the others back for
   * another slice.
   */
  async #cutSlice(): Promise<void> {
    if (this.phase !== 'open' || this.pending.size + this.#slice.length === 0) return;
    const { counters, committer } = this.parts;
    counters.sliceCut();
    this.#endSlice();
    await committer.whenStored(this);
    if (this.phase === 'open') this.#redeliverRest();
    else this.#giveBackSlice();
  }

  /**
   * Pauses the partition and tries again, because an internal error must not stop the partition
   * silently.
   */
  readonly #onInternalError = (error: unknown): void => {
    this.#isWorking = false;
    const inHand = new Set([...this.running, ...this.#slice]);
    this.#forget([...inHand].filter(({ hasEnded }) => !hasEnded));
    this.#running = undefined;
    this.#beingWritten = [];
    this.#hasFailedWrite = false;
    this.#slice = [];
    this.dropWaiting();
    this.notifyIdle();
    if (this.phase === 'ended') return;
    this.tracker.rewindTo(this.tracker.watermark);
    const unfinished = { kind: 'failed', error: asError(error) } as const;
    this.pausePartition(pauseFor(unfinished, (this.#backoff ??= this.newBackoff())));
  };

  #endSlice(): void {
    if (this.#hasProgress) {
      this.#hasProgress = false;
      if (this.phase !== 'ended') this.parts.committer.request(this);
    }
    this.notifyBufferSpace();
  }

  #becomeIdle(): void {
    if (this.phase === 'open' && this.pending.size > 0) return;
    this.#endSlice();
    this.notifyIdle();
  }
}

/**
 * Returns whether the records can be delivered again from memory: the failed one at once, and those
 * that were handed back with it.
 */
function mayStayInMemory(unfinished: readonly UnfinishedDelivery[]): boolean {
  return (
    unfinished.some(({ outcome }) => isRedeliveredAtOnce(outcome)) &&
    unfinished.every(
      ({ outcome }) => isRedeliveredAtOnce(outcome) || isHandedBackWithoutDelay(outcome),
    )
  );
}
