import type { ConsumerSession, TopicPartition } from '@nest-event-bus/broker';
import type { Backoff, Runtime } from '@nest-event-bus/broker/runtime';
import type { CommittingMember } from '../../model/records/assignment.js';
import type { Outcome, RecordProcessor } from '../../model/outcomes/outcome.js';
import type { Committer } from '../commits/committer.js';
import type { HandlerSlots } from './handler-slots.js';
import type { ConsumingSettings } from '../session/consuming-session.js';
import type { LaneDelivery } from './lane-delivery.js';
import type { BufferLimit } from './buffer-limit.js';
import type { ContainerMeasures } from '../measures/container-measures.js';
import type { ProgressParts } from '../commits/partition-progress.js';
import type { PartitionLane } from './partition-lane.js';
import type { RecordCounters } from '../session/record-counters.js';

/**
 * Result of a delivery whose record is not finished. Without a delay, the lane's backoff decides
 * when the record is delivered again.
 */
export type UnfinishedResult =
  | {
      readonly kind: 'failed';
      readonly error: Error;
      readonly delayMs?: number;
      /** Called with the delay in milliseconds, or with undefined if the delay is unknown. */
      readonly onRedelivery?: (inMs: number | undefined) => void;
    }
  | { readonly kind: 'undecided'; readonly error: Error; readonly offset: number }
  | { readonly kind: 'handed-back'; readonly delayMs?: number };

/** The reason for which a whole partition pauses. */
export type LanePause =
  | { readonly kind: 'failed'; readonly error: Error; readonly delayMs: number }
  | UndecidedRecord
  /**
   * `isChosen` is true if the handler asked for this delay, and false if the delay is the lane's
   * backoff.
   */
  | { readonly kind: 'handed-back'; readonly delayMs: number; readonly isChosen: boolean }
  /** The slice took too long. Its unfinished records are read again at once. */
  | { readonly kind: 'slice-cut' };

/** A record that blocks its partition until an operator decides. */
export type UndecidedRecord = Extract<UnfinishedResult, { kind: 'undecided' }>;

/** Receives notifications from a lane. */
export interface LaneObserver {
  /**
   * Called when the partition must pause. The lane has been rewound to the first record that is
   * delivered again.
   */
  onPause(lane: PartitionLane, pause: LanePause): void;
  /**
   * Called when the first record begins to wait while other records continue, and when no record
   * waits any more.
   */
  onWaiting(lane: PartitionLane): void;
  /** Called when the lane has buffer space again. */
  onBufferSpace(lane: PartitionLane): void;
  /** Called when a handler returned a promise. */
  onRunning(lane: PartitionLane): void;
  /** Called when a handler ended after its lane had ended. Its record is not committed. */
  onLate(lane: PartitionLane, delivery: LaneDelivery, outcome: Outcome): void;
}

/** The membership in the group, for transactions that commit offsets. */
export interface Membership {
  /** The session, whose lease shows whether the group still knows this member. */
  readonly session: Pick<ConsumerSession, 'leaseUntil'>;
  /**
   * Returns the member that may commit for the partition; undefined if the partition is not assigned
   * to this process now.
   */
  member(partition: TopicPartition): CommittingMember | undefined;
  /** Resolves with the offset of the partition that the group has stored; 0 if there is none. */
  stored(partition: TopicPartition): Promise<number>;
}

/**
 * Decides when completed records are committed. `waits`: no record is handed out until the commit
 * is answered. `yields`: nothing is committed while a handler runs, because the handler's
 * transaction may commit the offset. A commit that arrives during or after that transaction would
 * set the offset back.
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
  /** Omitted if metrics are disabled. */
  readonly measures?: ContainerMeasures | undefined;
  readonly settings: Pick<
    ConsumingSettings,
    'listenerType' | 'maxPollRecords' | 'maxPollIntervalMs' | 'failureBackoff'
  >;
  readonly commits: CommitPolicy;
  readonly bufferLimit: BufferLimit;
  readonly progress: ProgressParts;
  readonly sessionIndex: number;
  readonly committer: Pick<Committer, 'request' | 'whenStored'>;
  readonly observer: LaneObserver;
  readonly membership?: Membership;
  /** Handlers in this process that still run for earlier assignments of this partition. */
  readonly previousHandlers: readonly LaneDelivery[];
}

export interface KeyedLaneParts extends LaneParts {
  /** Handler slots, which the lanes of a session share. */
  readonly slots: HandlerSlots;
  readonly by: 'key' | 'none';
}

/** Pauses the whole partition for an unfinished record. */
export function pauseFor(unfinished: UnfinishedResult, backoff: Backoff): LanePause {
  switch (unfinished.kind) {
    case 'undecided':
      return unfinished;
    case 'failed': {
      const delayMs = redeliveryDelay(unfinished, backoff);
      return { kind: 'failed', error: unfinished.error, delayMs };
    }
    case 'handed-back': {
      const isChosen = (unfinished.delayMs ?? 0) > 0;
      return { kind: 'handed-back', isChosen, delayMs: redeliveryDelay(unfinished, backoff) };
    }
  }
}

/** Decides the delay before an unfinished record is delivered again. */
export function redeliveryDelay(
  unfinished: Exclude<UnfinishedResult, UndecidedRecord>,
  backoff: Backoff,
): number {
  const { delayMs } = unfinished;
  if (unfinished.kind === 'failed') {
    const inMs = delayMs ?? backoff.next();
    unfinished.onRedelivery?.(inMs);
    return inMs;
  }
  // Delays even a record that was handed back without a delay. Otherwise a handler that always
  // hands back would run in a tight loop.
  return delayMs ? delayMs : backoff.next();
}
