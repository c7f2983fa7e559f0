import type { ReplayDelivery } from '../ledger/delivery.js';
import type { DeadLetterFilter } from '../letters/dead-letter-filter.js';

/**
 * Where letters are replayed to: their original topic, a retry tier of their binding, or another
 * topic of the cluster by its name.
 */
export type RedriveTarget = 'origin' | { readonly tier: number } | { readonly topic: string };

/** Why a letter is left where it is. */
export type SkipReason =
  /** Another operation has replayed it. */
  | 'already-replayed'
  /** An operator has marked it. */
  | 'permanently-failed'
  /** It was replayed `dlt.replay.maxReplays` times. */
  | 'max-replays'
  /** The letter belongs to another group or binding that shares the dead-letter topic. */
  | 'other-binding'
  /**
   * Retention or a purge has deleted it after the plan was made. Also counts a letter about which
   * more than 50 decisions followed the plan.
   */
  | 'deleted';

export type SkipCounts = Readonly<Partial<Record<SkipReason, number>>>;

/** The letters of one partition that a plan covers: `from <= offset < to`. */
export interface PlannedPartition {
  readonly partition: number;
  readonly from: number;
  readonly to: number;
  readonly selected: number;
  /** The end of the ledger partition when the letters were counted. */
  readonly ledgerEnd: number;
}

/** Letters with the same cause. */
export interface CauseGroup {
  readonly id: string;
  readonly exceptionClass: string;
  readonly cause?: string;
  readonly count: number;
  readonly firstSeen: number;
  readonly lastSeen: number;
}

/**
 * A redrive before it runs. It is frozen: letters that arrive later are not part of it. Times are
 * milliseconds since 1970.
 */
export interface RedrivePlan {
  readonly id: string;
  /** Identifies the request, if the request named the id of the plan. */
  readonly requestDigest?: string;
  readonly binding: string;
  readonly cluster: string;
  readonly groupId: string;
  readonly deadLetterTopic: string;
  /** The id of that topic. A recreated topic has another one. */
  readonly deadLetterTopicId: string;
  readonly createdAt: number;
  readonly createdBy: string;
  readonly reason?: string;
  /** Undefined if all letters of the binding are selected. */
  readonly filter?: DeadLetterFilter;
  readonly target: RedriveTarget;
  readonly targetTopic: string;
  /**
   * Other groups that read the target topic. Groups of the bus skip a replay that is not theirs, and
   * groups of other software see it again. Absent without the right to list groups.
   */
  readonly otherGroups?: readonly string[];
  readonly partitions: readonly PlannedPartition[];
  readonly selected: number;
  /** Letters that match the filter and are left where they are. */
  readonly skipped: SkipCounts;
  /** The largest groups of the selected letters. */
  readonly groups: readonly CauseGroup[];
  /** The number of groups, including those that are not listed. */
  readonly groupCount: number;
  /**
   * `at-least-once` if the cluster allows no transactions: after a failure, letters may be replayed
   * again with the same replay id. Absent in plans of older versions, which are exactly once.
   */
  readonly delivery?: ReplayDelivery;
  /** `dlt.replay.maxReplays` when the plan was made. */
  readonly maxReplays: number;
}
