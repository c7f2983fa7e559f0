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
import type { Decision } from '../../model/outcomes/decision.js';
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
  /** Called when a partition begins or ends to wait. */
  onChange(): void;
}

export interface TimedPause {
  readonly reason: Extract<PauseReason, 'backoff' | 'delay'>;
  readonly delayMs: number;
  readonly error?: Error;
  /** The pause ends with a pause of the whole session, because nobody asked for this delay. */
  readonly endsOnResume: boolean;
}

interface RunningPause extends TimedPause {
  readonly timer: Timer;
}

interface StoppedReading {
  readonly error: PartitionError;
  readonly timer: Timer | undefined;
}

/** Delay before a poison batch is fetched again: it may have been damaged only in transit. */
const POISON_RETRY_MS = 30_000;
const RETRIED: readonly PauseReason[] = ['backoff'];

/** Pauses and resumes partitions as the ledger says, at the driver and at their lanes. */
export class LaneGate {
  readonly #timedPauses = new Map<PartitionLane, RunningPause[]>();
  readonly #stops = new Map<PartitionLane, StoppedReading>();
  readonly #undecided = new Map<PartitionLane, UndecidedRecord>();
  readonly #failing: FailingPartitions;

  constructor(private readonly parts: LaneGateParts) {
    this.#failing = new FailingPartitions(parts.runtime, parts.logger);
  }

  /** Sets the pauses of a new lane. The driver keeps those of an earlier assignment. */
  onLaneAdded(lane: PartitionLane): void {
    if (this.parts.ledger.stopsHandout(lane.name)) this.#pauseLane(lane);
    else this.parts.session.resume([lane]);
  }

  /** Ends the timers and the pause reasons of a lane with its assignment. */
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

  /** Applies the pause reasons of the session. */
  update(): void {
    for (const lane of this.parts.lanes) this.#apply(lane);
  }

  /** Ends the pauses whose delay nobody asked for. */
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

  /** Pauses a partition until somebody decides. No timer and no resume ends this pause. */
  pauseUntilDecided(lane: PartitionLane, record: UndecidedRecord): void {
    if (!this.parts.lanes.owns(lane)) return;
    const earlier = this.#undecided.get(lane);
    // Keeps the lowest offset. Higher ones are redelivered once it is decided.
    if (!earlier || record.offset < earlier.offset) this.#undecided.set(lane, record);
    this.parts.ledger.add('strict', lane.name);
    this.#apply(lane);
    this.parts.onChange();
  }

  /** Returns false if no record waits for a decision, or another one than meant. */
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

  /**
   * Decides about a record that waits for its next attempt or for its circuit. The caller has to
   * name the offset, so that nobody skips another record by mistake.
   */
  #decideFailed(lane: PartitionLane, decision: Decision, offset: number): boolean {
    const isNext = lane.isPaused && offset === lane.tracker.next;
    const isSetBack = lane.hasFailed(offset) || this.parts.ledger.has('backoff', lane.name);
    if (!isNext || !isSetBack) return false;
    lane.decide(offset, decision);
    const backoff = this.#timedPauses.get(lane)?.find(({ reason }) => reason === 'backoff');
    if (backoff) this.#endPause(lane, backoff);
    return true;
  }

  /**
   * Updates the status when records begin or end to wait. The lane stays open, since its other
   * records go on.
   */
  onWaitingChanged(lane: PartitionLane): void {
    this.#failing.update(lane);
    this.parts.onChange();
  }

  /** Stops fetching for a lane whose buffer is full. Other lanes go on. */
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

  /** Records why the driver cannot read on. Records that were read before go on. */
  onReadingStopped(lane: PartitionLane, error: PartitionError): void {
    this.#stops.get(lane)?.timer?.cancel();
    const isWorthRetrying = error instanceof PoisonBatchError;
    const timer = isWorthRetrying
      ? this.parts.runtime.setTimer(() => this.#retryReading(lane), POISON_RETRY_MS)
      : undefined;
    this.#stops.set(lane, { error, timer });
    this.parts.onChange();
  }

  /** Clears the stop once the partition delivers records again. */
  onRecordsReceived(lane: PartitionLane): void {
    if (this.#stops.size === 0 || !this.#stops.has(lane)) return;
    this.#clearStop(lane);
    this.parts.onChange();
  }

  /** Moves the driver's position. */
  seek(lane: PartitionLane, offset: number): void {
    try {
      this.parts.session.seek(lane, offset);
    } catch (error) {
      // The partition was revoked in this very moment. Its next owner starts at the committed
      // offset.
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

  /**
   * A lane that waits for due records keeps its buffer, so it is not paused itself. The lane's own
   * reasons are added here.
   */
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

  /** A pause drops the buffer, so backpressure ends. */
  #pauseLane(lane: PartitionLane): void {
    this.parts.session.pause([lane]);
    lane.pause();
    lane.isBackpressured = false;
    this.parts.ledger.remove('backpressure', lane.name);
  }

  /**
   * Seeks to the first record after those that are completed or in flight. A driver that is there
   * already keeps its fetched records.
   */
  #seekToNext(lane: PartitionLane): void {
    const stopped = this.#stops.get(lane)?.error;
    // The offsets of another topic mean nothing here, so an operator has to decide.
    if (stopped && !(stopped instanceof PoisonBatchError)) return;
    const position = this.parts.session.position(lane);
    if (position === lane.tracker.next && !stopped) return;
    this.#clearStop(lane);
    this.seek(lane, lane.tracker.next);
  }

  /**
   * Reads again from where the lane goes on, which may be before the batch. A paused lane is sought
   * when it resumes.
   */
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
