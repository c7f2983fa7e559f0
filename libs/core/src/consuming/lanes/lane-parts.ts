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

/** Why a lane stopped at a record. Without a delay, intake's own backoff decides. */
export type UnfinishedResult =
  | { readonly kind: 'failed'; readonly error: Error; readonly delayMs?: number }
  | { readonly kind: 'undecided'; readonly error: Error; readonly offset: number }
  | { readonly kind: 'handed-back'; readonly delayMs?: number };

/** What the whole partition is to be held for. */
export type LanePause =
  | { readonly kind: 'failed'; readonly error: Error; readonly delayMs: number }
  | UndecidedRecord
  /** `isChosen`: somebody wants this delay, and not only any. */
  | { readonly kind: 'handed-back'; readonly delayMs: number; readonly isChosen: boolean }
  /** It is to be read again at once. */
  | { readonly kind: 'slice-cut' };

/** A record that its partition waits for until somebody decides. */
export type UndecidedRecord = Extract<UnfinishedResult, { kind: 'undecided' }>;

/** Whom a lane tells. */
export interface LaneObserver {
  /** The lane stands at the first record that is to come again, and is to be held for a while. */
  onPause(lane: PartitionLane, pause: LanePause): void;
  /** Some of its records begin to wait while others go on, or none does any more. */
  onWaiting(lane: PartitionLane): void;
  /** It has room again after it had too much. */
  onBufferSpace(lane: PartitionLane): void;
  /** A handler did not answer at once. */
  onRunning(lane: PartitionLane): void;
  /** A handler ended after the lane had: whatever it did is not committed. */
  onLate(lane: PartitionLane, delivery: LaneDelivery, outcome: Outcome): void;
}

/** Our place in the group, for who commits offsets with something else. */
export interface Membership {
  /** undefined where the partition is not ours at the moment. */
  member(partition: TopicPartition): CommittingMember | undefined;
  stored(partition: TopicPartition): Promise<number>;
}

/**
 * When what is done is committed. `waits`: nothing is handed out until it is. `yields`: nothing is
 * committed while a record is at work, for that one may be committed with something else: what
 * lands after it, or between its steps, would take it back.
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
  /** Handlers of earlier assignments of the partition that still run in this process. */
  readonly previousHandlers: readonly LaneDelivery[];
}

export interface KeyedLaneParts extends LaneParts {
  /** Shared by the lanes of a session. */
  readonly slots: HandlerSlots;
  readonly by: 'key' | 'none';
}

/** The wait of a whole partition for the record that was set back. */
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

/** How long a record waits that is to come again. */
export function redeliveryDelay(
  { kind, delayMs }: Exclude<UnfinishedResult, UndecidedRecord>,
  backoff: Backoff,
): number {
  if (kind === 'failed') return delayMs ?? backoff.next();
  // Without a delay of its own, a handler that gives everything back would spin.
  return delayMs ? delayMs : backoff.next();
}
