import type { TopicPartition } from '@nest-event-bus/broker';
import type { Backoff, Runtime } from '@nest-event-bus/broker/runtime';
import type { CommittingMember } from '../../model/records/assignment.js';
import type { Outcome, RecordProcessor } from '../../model/outcomes/outcome.js';
import type { Committer } from '../commits/committer.js';
import type { HandlerSlots } from './handler-slots.js';
import type { ConsumingSettings } from '../session/consuming-session.js';
import type { LaneDelivery } from './lane-delivery.js';
import type { BufferLimit } from './buffer-limit.js';
import type { ProgressParts } from '../commits/partition-progress.js';
import type { PartitionLane } from './partition-lane.js';
import type { RecordCounters } from '../session/record-counters.js';

/** Result of a record that is not finished. Without a delay, the lane's own backoff decides. */
export type UnfinishedResult =
  | { readonly kind: 'failed'; readonly error: Error; readonly delayMs?: number }
  | { readonly kind: 'undecided'; readonly error: Error; readonly offset: number }
  | { readonly kind: 'handed-back'; readonly delayMs?: number };

/** Reason and delay of a pause of the whole partition. */
export type LanePause =
  | { readonly kind: 'failed'; readonly error: Error; readonly delayMs: number }
  | UndecidedRecord
  /** `isChosen` is true if the handler asked for this delay. */
  | { readonly kind: 'handed-back'; readonly delayMs: number; readonly isChosen: boolean }
  /** The rest of the slice is read again at once. */
  | { readonly kind: 'slice-cut' };

/** A record whose partition waits for a decision. */
export type UndecidedRecord = Extract<UnfinishedResult, { kind: 'undecided' }>;

/** Receives the events of a lane. */
export interface LaneObserver {
  /** Called when the lane has rewound to a record that is redelivered after a pause. */
  onPause(lane: PartitionLane, pause: LanePause): void;
  /**
   * Called when the first record begins to wait while others go on, and when the last wait ends.
   */
  onWaiting(lane: PartitionLane): void;
  /** Called when a full buffer has room again. */
  onBufferSpace(lane: PartitionLane): void;
  /** Called when a handler did not return at once. */
  onRunning(lane: PartitionLane): void;
  /** Called when a handler returned after the lane had ended. Its outcome is not committed. */
  onLate(lane: PartitionLane, delivery: LaneDelivery, outcome: Outcome): void;
}

/** The session's membership in the group, for those who commit offsets in a transaction. */
export interface Membership {
  /** See `ConsumerSession.leaseUntil`. */
  readonly leaseUntil: number;
  /** Returns undefined while the partition is not owned. */
  member(partition: TopicPartition): CommittingMember | undefined;
  stored(partition: TopicPartition): Promise<number>;
}

/**
 * Defines when progress is committed. `waits`: nothing is handed out until it is stored. `yields`:
 * nothing is committed while a record is in flight, because a transaction may commit that record. A
 * commit that arrives after the transaction's offset, or between its steps, would take it back.
 */
export interface CommitPolicy {
  readonly after: 'record' | 'slice';
  readonly waits: boolean;
  readonly yields: boolean;
}

export interface LaneParts {
  readonly processor: RecordProcessor;
  readonly runtime: Runtime;
  readonly counters: RecordCounters;
  readonly settings: Pick<
    ConsumingSettings,
    'maxPollRecords' | 'maxPollIntervalMs' | 'failureBackoff'
  >;
  readonly commits: CommitPolicy;
  readonly bufferLimit: BufferLimit;
  readonly progress: ProgressParts;
  readonly sessionIndex: number;
  readonly committer: Pick<Committer, 'request' | 'whenStored'>;
  readonly observer: LaneObserver;
  readonly membership?: Membership;
  /** Running handlers of earlier assignments of this partition, in this process. */
  readonly previousHandlers: readonly LaneDelivery[];
}

export interface KeyedLaneParts extends LaneParts {
  /** Shared by the lanes of a session. */
  readonly slots: HandlerSlots;
  readonly by: 'key' | 'none';
}

/** Returns the pause of the whole partition after a record that is not finished. */
export function pauseFor(unfinished: UnfinishedResult, backoff: Backoff): LanePause {
  switch (unfinished.kind) {
    case 'undecided':
      return unfinished;
    case 'failed':
      return { ...unfinished, delayMs: redeliveryDelay(unfinished, backoff) };
    case 'handed-back': {
      const isChosen = (unfinished.delayMs ?? 0) > 0;
      return { kind: 'handed-back', isChosen, delayMs: redeliveryDelay(unfinished, backoff) };
    }
  }
}

/** Returns the delay before the record is redelivered. */
export function redeliveryDelay(
  { kind, delayMs }: Exclude<UnfinishedResult, UndecidedRecord>,
  backoff: Backoff,
): number {
  if (kind === 'failed') return delayMs ?? backoff.next();
  // A handler that gives everything back without a delay would run in a tight loop.
  return delayMs ? delayMs : backoff.next();
}
