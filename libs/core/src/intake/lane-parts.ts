import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { Outcome, RecordProcessor } from '../model/outcome.js';
import type { IntakeSettings } from './intake.js';
import type { LaneDelivery } from './lane-delivery.js';
import type { PartitionLane } from './partition-lane.js';
import type { Tally } from './tally.js';

/** Why a lane stopped at a record: its handler failed, or gave it back. */
export type Setback =
  | { readonly kind: 'failed'; readonly error: Error; readonly delayMs: number }
  | { readonly kind: 'handed-back'; readonly delayMs: number; readonly isChosen: boolean };

/** Whom a lane tells. */
export interface LaneObserver {
  /** Something is done that is not committed yet. */
  onDone(lane: PartitionLane): void;
  /** The lane stands at the first unfinished record and is to be held for a while. */
  onSetback(lane: PartitionLane, setback: Setback): void;
  /** It has room again after it had too much. */
  onRoom(lane: PartitionLane): void;
  /** A handler did not answer at once. */
  onRunning(lane: PartitionLane): void;
  /** A handler ended after the lane had: whatever it did is not committed. */
  onLate(lane: PartitionLane, delivery: LaneDelivery, outcome: Outcome): void;
}

export interface LaneParts {
  readonly processor: RecordProcessor;
  readonly runtime: Runtime;
  readonly tally: Tally;
  readonly settings: Pick<IntakeSettings, 'maxPollRecords' | 'failureBackoff'> & {
    readonly commitsEachRecord: boolean;
  };
  readonly sessionIndex: number;
  readonly observer: LaneObserver;
  /** Resolves when the handler of an earlier assignment no longer runs, or has run for too long. */
  readonly predecessor?: Promise<void>;
}
