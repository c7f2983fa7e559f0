import type { BindingRef } from './binding-ref.js';

/**
 * Progress of a group in a partition. UNKNOWN: the cluster has not answered since the start. OK
 * also stands for a partition without lag, whatever its binding does.
 */
export type LagStatus =
  'OK' | 'WARNING' | 'STALLED' | 'REWIND' | 'PAUSED' | 'CIRCUIT_OPEN' | 'STOPPED' | 'UNKNOWN';

/** Numbers of the statuses in metrics. They never change. */
export const LAG_STATUS_CODES: Readonly<Record<LagStatus, number>> = Object.freeze({
  OK: 0,
  WARNING: 1,
  STALLED: 2,
  REWIND: 3,
  PAUSED: 4,
  CIRCUIT_OPEN: 5,
  STOPPED: 6,
  UNKNOWN: 7,
});

interface Lag {
  /** Records that were written and are not committed. At most this many in a compacted topic. */
  readonly records: number;
  /**
   * Age of the first unfinished record: 0 if there is none, undefined if its write time is not
   * known.
   */
  readonly seconds: number | undefined;
  readonly status: LagStatus;
  /** Sentence that explains a status other than OK, and a wait that is no problem. */
  readonly cause: string | undefined;
}

export interface PartitionLag extends Lag {
  readonly topic: string;
  readonly partition: number;
  readonly low: number;
  readonly high: number;
  /** Undefined if the group has committed no offset. */
  readonly committed: number | undefined;
}

/** Lag of the main topic (tier 0), or of a retry tier, over all members of its group. */
export interface GroupLag extends Lag {
  readonly topic: string;
  readonly groupId: string;
  readonly tier: number;
  readonly partitions: readonly PartitionLag[];
}

/** Dead letters of a binding that are open: neither replayed nor given up. */
export interface DeadLetterDepth {
  readonly topic: string;
  readonly records: number;
  /** Age of the oldest open letter; undefined if there is none, or if it cannot be read. */
  readonly oldestSeconds: number | undefined;
  /** False if letters were not read yet, or may not be read: `records` is an upper bound then. */
  readonly isExact: boolean;
}

/**
 * Lag of a binding at one moment. `records`, `seconds`, `status` and `cause` are those of the main
 * topic.
 */
export interface BindingLag extends Lag {
  readonly binding: string;
  readonly cluster: string;
  readonly groupId: string;
  /** Time of the last poll that succeeded, in milliseconds since 1970; undefined if there is none. */
  readonly at: number | undefined;
  /** Reason why the last poll failed; undefined if it succeeded. The figures are older then. */
  readonly error: string | undefined;
  readonly main: GroupLag;
  readonly tiers: readonly GroupLag[];
  /** Undefined if the dead-letter topic does not exist. */
  readonly deadLetters: DeadLetterDepth | undefined;
}

/** Reads what the last poll has found, without a request. */
export interface LagReader {
  /** Returns undefined before the first poll, and if `lag.enabled` is false. */
  of(ref: BindingRef): BindingLag | undefined;
  all(): readonly BindingLag[];
}
