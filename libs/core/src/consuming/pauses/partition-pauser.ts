import {
  type ConsumerSession,
  type DriverLogger,
  errorReasonOf,
  FencedError,
  type PartitionError,
  PoisonBatchError,
} from '@nest-event-bus/broker';
import type { Runtime, Timer } from '@nest-event-bus/broker/runtime';
import { FailingPartitions } from '../session/failing-partitions.js';
import type { PartitionPause } from '../session/consuming-session.js';
import type { Decision } from '../../model/outcomes/decision.js';
import type { UndecidedRecord } from '../lanes/lane-parts.js';
import type { Lanes } from '../lanes/lanes.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import type { PauseReasonSets } from './pause-reason-sets.js';
import { PAUSE_REASONS, type PauseReason } from './pause-reason.js';

export interface PartitionPauserParts {
  readonly session: Pick<ConsumerSession, 'pause' | 'resume' | 'seek' | 'position'>;
  readonly pauseReasons: PauseReasonSets;
  readonly lanes: Lanes;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** Called when a partition begins to wait, and when its wait ends. */
  onChange(): void;
}

export interface TimedPause {
  readonly reason: Extract<PauseReason, 'backoff' | 'delay'>;
  readonly delayMs: number;
  readonly error?: Error;
  /**
   * True if a pause of the whole session ends this pause as well, because no handler asked for the
   * delay.
   */
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

/**
 * Pauses and resumes partitions according to their pause reasons, at the driver and at their lanes.
 */
export class PartitionPauser {
  readonly #timedPauses = new Map<PartitionLane, RunningPause[]>();
  readonly #stops = new Map<PartitionLane, StoppedReading>();
  /** Partitions that no resume and no timer continues, because their topic was recreated. */
  readonly #held = new Set<PartitionLane>();
  readonly #undecided = new Map<PartitionLane, UndecidedRecord>();
  readonly #failing: FailingPartitions;

  constructor(private readonly parts: PartitionPauserParts) {
    this.#failing = new FailingPartitions(parts.runtime, parts.logger);
  }

  /** Sets the pauses of a new lane. The driver keeps those of an earlier assignment. */
  onLaneAdded(lane: PartitionLane): void {
    if (this.parts.pauseReasons.stopsHandout(lane.name)) this.#pauseLane(lane);
    else this.parts.session.resume([lane]);
  }

  /** Removes the timers and the pause reasons of a lane when its assignment ends. */
  onLaneRemoved(lane: PartitionLane): void {
    for (const { timer } of this.#timedPauses.get(lane) ?? []) timer.cancel();
    this.#timedPauses.delete(lane);
    this.#undecided.delete(lane);
    this.#held.delete(lane);
    this.#clearStop(lane);
    this.parts.pauseReasons.forget(lane.name);
  }

  /** Pauses a lane for good. No timer and no resume makes it hand out again. */
  stopHandout(lane: PartitionLane): void {
    this.parts.pauseReasons.add('shutdown', lane.name);
    this.#apply(lane);
  }

  /** Applies the pause reasons of the session. */
  update(): void {
    for (const lane of this.parts.lanes) this.#apply(lane);
  }

  /** Ends the pauses with `endsOnResume`, whose delay no handler asked for. */
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
    this.parts.pauseReasons.add(wait.reason, lane.name);
    this.#apply(lane);
    this.parts.onChange();
  }

  /** Pauses a partition until an operator decides. No timer and no resume ends this pause. */
  pauseUntilDecided(lane: PartitionLane, record: UndecidedRecord): void {
    if (!this.parts.lanes.owns(lane)) return;
    const earlier = this.#undecided.get(lane);
    // Keeps the record with the lowest offset. Later ones are redelivered after the decision about
    // it.
    if (!earlier || record.offset < earlier.offset) this.#undecided.set(lane, record);
    this.parts.pauseReasons.add('strict', lane.name);
    this.#apply(lane);
    this.parts.onChange();
  }

  /**
   * Returns false if no record waits for a decision, or if the waiting record is not the one with
   * this offset.
   */
  decide(lane: PartitionLane, decision: Decision, offset?: number): boolean {
    const record = this.#undecided.get(lane);
    if (!record) return offset !== undefined && this.#decideFailed(lane, decision, offset);
    if (record.offset !== (offset ?? record.offset)) return false;
    this.#undecided.delete(lane);
    this.parts.pauseReasons.remove('strict', lane.name);
    lane.decide(record.offset, decision);
    this.#apply(lane);
    this.parts.onChange();
    return true;
  }

  /**
   * Decides about a record that waits for its next attempt or for its circuit. The caller has to
   * name the offset, so that no other record is skipped by mistake.
   */
  #decideFailed(lane: PartitionLane, decision: Decision, offset: number): boolean {
    const isNext = lane.phase === 'paused' && offset === lane.tracker.next;
    const isSetBack = lane.hasFailed(offset) || this.parts.pauseReasons.has('backoff', lane.name);
    if (!isNext || !isSetBack) return false;
    lane.decide(offset, decision);
    const backoff = this.#timedPauses.get(lane)?.find(({ reason }) => reason === 'backoff');
    if (backoff) this.#endPause(lane, backoff);
    return true;
  }

  /**
   * Updates the status when records begin or end to wait. The lane is not paused, because its other
   * records continue.
   */
  onWaitingChanged(lane: PartitionLane): void {
    this.#failing.update(lane);
    this.parts.onChange();
  }

  /** Stops fetching for a lane whose buffer is full. Other lanes are still fetched. */
  applyBackpressure(lane: PartitionLane): void {
    if (lane.isBackpressured) return;
    lane.isBackpressured = true;
    this.parts.pauseReasons.add('backpressure', lane.name);
    this.parts.session.pause([lane]);
  }

  releaseBackpressure(lane: PartitionLane): void {
    lane.isBackpressured = false;
    if (!this.parts.lanes.owns(lane)) return;
    this.parts.pauseReasons.remove('backpressure', lane.name);
    if (lane.phase === 'open') this.parts.session.resume([lane]);
  }

  /**
   * Remembers why the driver cannot read the partition any further. Records that were read before
   * are still handled.
   */
  onReadingStopped(lane: PartitionLane, error: PartitionError): void {
    this.#stops.get(lane)?.timer?.cancel();
    const isWorthRetrying = error instanceof PoisonBatchError;
    const timer = isWorthRetrying
      ? this.parts.runtime.setTimer(() => this.#retryReading(lane), POISON_RETRY_MS)
      : undefined;
    this.#stops.set(lane, { error, timer });
    this.parts.onChange();
  }

  /** Pauses a partition before a record of it is read. Only the end of its lane ends this pause. */
  hold(lane: PartitionLane, error: PartitionError): void {
    this.#held.add(lane);
    this.#pauseLane(lane);
    this.onReadingStopped(lane, error);
  }

  /** Removes that error once the partition delivers records again. */
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
      // The partition was revoked at the same moment. Its next owner starts at the committed
      // offset.
      const isExpected = error instanceof FencedError;
      this.parts.logger[isExpected ? 'debug' : 'error']('A partition could not be sought', {
        partition: lane.name,
        offset,
        reason: errorReasonOf(error),
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
   * Returns the pause reasons of a partition, with those that only its lane knows. A lane that
   * waits for a due time is not paused itself, so that it keeps its buffer.
   */
  #reasonsOf(lane: PartitionLane): readonly PauseReason[] {
    const { pauseReasons } = this.parts;
    const { waiting } = lane;
    const isDelayed = lane.waitsForDueTime || waiting?.has('delay');
    const isBackedOff = waiting?.has('backoff') || lane.trouble !== undefined;
    if (!isDelayed && !isBackedOff) return pauseReasons.reasons(lane.name);
    return PAUSE_REASONS.filter(
      (reason) =>
        (isDelayed && reason === 'delay') ||
        (isBackedOff && reason === 'backoff') ||
        pauseReasons.has(reason, lane.name),
    );
  }

  #apply(lane: PartitionLane): void {
    if (lane.phase === 'ended') return;
    if (this.parts.pauseReasons.stopsHandout(lane.name) || this.#held.has(lane))
      return this.#pauseLane(lane);
    if (lane.phase !== 'paused') return;
    this.#seekToNext(lane);
    lane.resume();
    this.parts.session.resume([lane]);
  }

  /** Pauses the lane. A pause drops the buffer, so backpressure ends. */
  #pauseLane(lane: PartitionLane): void {
    this.parts.session.pause([lane]);
    lane.pause();
    lane.isBackpressured = false;
    this.parts.pauseReasons.remove('backpressure', lane.name);
  }

  /**
   * Seeks to the next record that is neither completed nor in flight. A driver that has this
   * position already keeps its fetched records.
   */
  #seekToNext(lane: PartitionLane): void {
    const stopped = this.#stops.get(lane)?.error;
    // The topic was recreated, and its offsets belong to other records, so an operator has to
    // decide.
    if (stopped && !(stopped instanceof PoisonBatchError)) return;
    const position = this.parts.session.position(lane);
    if (position === lane.tracker.next && !stopped) return;
    this.#clearStop(lane);
    this.seek(lane, lane.tracker.next);
  }

  /**
   * Reads again from the position of the lane, which may be before the batch. For a paused lane the
   * seek follows when it resumes.
   */
  #retryReading(lane: PartitionLane): void {
    if (lane.phase === 'paused' || !this.parts.lanes.owns(lane)) return;
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
    this.parts.pauseReasons.remove(wait.reason, lane.name);
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
