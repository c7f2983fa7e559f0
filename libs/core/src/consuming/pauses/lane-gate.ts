import {
  FencedError,
  PoisonBatchError,
  type ConsumerSession,
  type DriverLogger,
  type PartitionError,
} from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import { FailingPartitions } from '../session/failing-partitions.js';
import type { PartitionPause } from '../session/consuming-session.js';
import type { Decision } from '../../model/outcomes/delivery.js';
import type { UndecidedRecord } from '../lanes/lane-parts.js';
import type { Lanes } from '../lanes/lanes.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import type { PauseLedger } from './pause-ledger.js';
import { PAUSE_REASONS, type PauseReason } from './pause-reason.js';

export interface LaneGateParts {
  readonly session: Pick<ConsumerSession, 'pause' | 'resume' | 'seek' | 'position'>;
  readonly ledger: PauseLedger;
  readonly lanes: Lanes;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** A partition waits, or no longer does. */
  onChange(): void;
}

export interface TimedPause {
  readonly reason: Extract<PauseReason, 'backoff' | 'delay'>;
  readonly delayMs: number;
  readonly error?: Error;
  /** Over as soon as a pause of the whole session is: nobody chose its length. */
  readonly endsOnResume: boolean;
}

interface RunningPause extends TimedPause {
  readonly timer: Timer;
}

interface StoppedReading {
  readonly error: PartitionError;
  readonly timer: Timer | undefined;
}

/** A batch may have been broken on its way only, so it is fetched again. */
const POISON_RETRY_MS = 30_000;
const RETRIED: readonly PauseReason[] = ['backoff'];

/** Opens and closes partitions as the ledger says: at the driver, and at their lanes. */
export class LaneGate {
  readonly #timedPauses = new Map<PartitionLane, RunningPause[]>();
  readonly #stops = new Map<PartitionLane, StoppedReading>();
  readonly #undecided = new Map<PartitionLane, UndecidedRecord>();
  readonly #failing: FailingPartitions;

  constructor(private readonly parts: LaneGateParts) {
    this.#failing = new FailingPartitions(parts.runtime, parts.logger);
  }

  /** A lane has begun. The driver keeps the pauses of an earlier assignment: they are set anew. */
  onLaneAdded(lane: PartitionLane): void {
    if (this.parts.ledger.stopsHandout(lane.name)) this.#pauseLane(lane);
    else this.parts.session.resume([lane]);
  }

  /** A lane has ended: its timers and reasons end with it. */
  onLaneRemoved(lane: PartitionLane): void {
    for (const { timer } of this.#timedPauses.get(lane) ?? []) timer.cancel();
    this.#timedPauses.delete(lane);
    this.#undecided.delete(lane);
    this.#clearStop(lane);
    this.parts.ledger.forget(lane.name);
  }

  /** Pauses a lane for good: no timer and no resume opens it again. */
  stopHandout(lane: PartitionLane): void {
    this.parts.ledger.add('shutdown', lane.name);
    this.#apply(lane);
  }

  /** Puts the session's reasons into effect. */
  update(): void {
    for (const lane of this.parts.lanes) this.#apply(lane);
  }

  /** Ends the waits whose length nobody chose. */
  endPausesOnResume(): void {
    for (const [lane, waits] of this.#timedPauses)
      for (const wait of waits) if (wait.endsOnResume) this.#endPause(lane, wait);
  }

  pauseFor(lane: PartitionLane, wait: TimedPause): void {
    if (!this.parts.lanes.owns(lane)) return;
    const earlier = this.#timedPauses.get(lane)?.find(({ reason }) => reason === wait.reason);
    if (earlier) this.#removePause(lane, earlier);
    const timer = this.parts.runtime.setTimer(() => this.#endPause(lane, waiting), wait.delayMs);
    const waiting: RunningPause = { ...wait, timer };
    this.#timedPauses.set(lane, [...(this.#timedPauses.get(lane) ?? []), waiting]);
    this.parts.ledger.add(wait.reason, lane.name);
    this.#apply(lane);
    this.parts.onChange();
  }

  /** No timer opens it again, and no resume: only a decision. */
  pauseUntilDecided(lane: PartitionLane, record: UndecidedRecord): void {
    if (!this.parts.lanes.owns(lane)) return;
    const earlier = this.#undecided.get(lane);
    // The other one comes again once this one is decided.
    if (!earlier || record.offset < earlier.offset) this.#undecided.set(lane, record);
    this.parts.ledger.add('strict', lane.name);
    this.#apply(lane);
    this.parts.onChange();
  }

  /** False where nothing waits for a decision, or another record than the one that is meant. */
  decide(lane: PartitionLane, decision: Decision, offset?: number): boolean {
    const record = this.#undecided.get(lane);
    if (!record) return offset !== undefined && this.#decideFailed(lane, decision, offset);
    if (record.offset !== (offset ?? record.offset)) return false;
    this.#undecided.delete(lane);
    this.parts.ledger.remove('strict', lane.name);
    lane.decide(record.offset, decision);
    this.#apply(lane);
    this.parts.onChange();
    return true;
  }

  /** It waits to be tried again, by itself or until its circuit closes. Only by name: nobody is to pass over another one. */
  #decideFailed(lane: PartitionLane, decision: Decision, offset: number): boolean {
    const isNext = lane.isPaused && offset === lane.tracker.next;
    const isSetBack = lane.hasFailed(offset) || this.parts.ledger.has('backoff', lane.name);
    if (!isNext || !isSetBack) return false;
    lane.decide(offset, decision);
    const backoff = this.#timedPauses.get(lane)?.find(({ reason }) => reason === 'backoff');
    if (backoff) this.#endPause(lane, backoff);
    return true;
  }

  /** Records of it begin to wait, or none does any more. The lane goes on, and so stays open. */
  onWaitingChanged(lane: PartitionLane): void {
    this.#failing.update(lane);
    this.parts.onChange();
  }

  /** It has more than it should hold: the others go on. */
  applyBackpressure(lane: PartitionLane): void {
    if (lane.isBackpressured) return;
    lane.isBackpressured = true;
    this.parts.ledger.add('backpressure', lane.name);
    this.parts.session.pause([lane]);
  }

  releaseBackpressure(lane: PartitionLane): void {
    lane.isBackpressured = false;
    if (!this.parts.lanes.owns(lane)) return;
    this.parts.ledger.remove('backpressure', lane.name);
    if (!lane.isPaused && !lane.hasEnded) this.parts.session.resume([lane]);
  }

  /** The driver cannot read on. What was read before goes on. */
  onReadingStopped(lane: PartitionLane, error: PartitionError): void {
    this.#stops.get(lane)?.timer?.cancel();
    const isWorthRetrying = error instanceof PoisonBatchError;
    const timer = isWorthRetrying
      ? this.parts.runtime.setTimer(() => this.#retryReading(lane), POISON_RETRY_MS)
      : undefined;
    this.#stops.set(lane, { error, timer });
    this.parts.onChange();
  }

  /** Its records come (again). */
  onRecordsReceived(lane: PartitionLane): void {
    if (this.#stops.size === 0 || !this.#stops.has(lane)) return;
    this.#clearStop(lane);
    this.parts.onChange();
  }

  /** The driver reads on from there. */
  seek(lane: PartitionLane, offset: number): void {
    try {
      this.parts.session.seek(lane, offset);
    } catch (error) {
      // It was taken away in this very moment; its next owner starts at what is committed.
      const isExpected = error instanceof FencedError;
      this.parts.logger[isExpected ? 'debug' : 'error']('A partition could not be sought', {
        partition: lane.name,
        offset,
        reason: (error as Error).message,
      });
    }
  }

  pauses(): readonly PartitionPause[] {
    return [...this.parts.lanes].flatMap((lane) => {
      const stop = this.#stops.get(lane);
      const undecided = this.#undecided.get(lane);
      const own = this.#reasonsOf(lane);
      const reasons = own.length === 0 && stop?.timer ? RETRIED : own;
      if (reasons.length === 0 && !stop) return [];
      const waiting = this.#timedPauses.get(lane)?.findLast((wait) => wait.error);
      const error =
        (stop ?? undecided ?? waiting ?? lane.waiting?.lowestFailed)?.error ?? lane.trouble;
      const { topic, partition } = lane;
      return [
        {
          topic,
          partition,
          reasons,
          ...(error && { error }),
          ...(undecided && { undecidedOffset: undecided.offset }),
        },
      ];
    });
  }

  /** A lane that waits for its first record to become due, or has records that wait, keeps what it has, and so is not shut. */
  #reasonsOf(lane: PartitionLane): readonly PauseReason[] {
    const { ledger } = this.parts;
    const { waiting } = lane;
    const isDelayed = lane.waitsForDueTime || waiting?.has('delay');
    const isBackedOff = waiting?.has('backoff') || lane.trouble !== undefined;
    if (!isDelayed && !isBackedOff) return ledger.reasons(lane.name);
    return PAUSE_REASONS.filter(
      (reason) =>
        (isDelayed && reason === 'delay') ||
        (isBackedOff && reason === 'backoff') ||
        ledger.has(reason, lane.name),
    );
  }

  #apply(lane: PartitionLane): void {
    if (lane.hasEnded) return;
    if (this.parts.ledger.stopsHandout(lane.name)) return this.#pauseLane(lane);
    if (!lane.isPaused) return;
    this.#seekToNext(lane);
    lane.resume();
    this.parts.session.resume([lane]);
  }

  /** What is buffered is dropped, so there is nothing to be crowded by. */
  #pauseLane(lane: PartitionLane): void {
    this.parts.session.pause([lane]);
    lane.pause();
    lane.isBackpressured = false;
    this.parts.ledger.remove('backpressure', lane.name);
  }

  /** Reading goes on behind what is done or at work. A driver that stands there already keeps what it has fetched. */
  #seekToNext(lane: PartitionLane): void {
    const stopped = this.#stops.get(lane)?.error;
    // Where the topic is another one, its offsets are too: that is for an operator to decide.
    if (stopped && !(stopped instanceof PoisonBatchError)) return;
    const position = this.parts.session.position(lane);
    if (position === lane.tracker.next && !stopped) return;
    this.#clearStop(lane);
    this.seek(lane, lane.tracker.next);
  }

  /** From where the lane goes on: what was given back may lie before the batch. One that is held is sought when it is released. */
  #retryReading(lane: PartitionLane): void {
    if (lane.isPaused || !this.parts.lanes.owns(lane)) return;
    this.#clearStop(lane);
    this.seek(lane, lane.tracker.next);
    this.parts.onChange();
  }

  #clearStop(lane: PartitionLane): void {
    this.#stops.get(lane)?.timer?.cancel();
    this.#stops.delete(lane);
  }

  #endPause(lane: PartitionLane, wait: RunningPause): void {
    this.#removePause(lane, wait);
    this.parts.ledger.remove(wait.reason, lane.name);
    this.#apply(lane);
    this.parts.onChange();
  }

  #removePause(lane: PartitionLane, wait: RunningPause): void {
    wait.timer.cancel();
    const left = (this.#timedPauses.get(lane) ?? []).filter((each) => each !== wait);
    if (left.length > 0) this.#timedPauses.set(lane, left);
    else this.#timedPauses.delete(lane);
  }
}
