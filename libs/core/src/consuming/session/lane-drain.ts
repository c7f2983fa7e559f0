import type { DriverLogger } from '@nest-event-bus/broker';
import { resolvesWithin, type Runtime } from '@nest-event-bus/broker/runtime';
import { type AbortCause, DeliveryAbortedException } from '../../errors/delivery-errors.js';
import type { Committer } from '../commits/committer.js';
import { placeOf } from '../lanes/lane-delivery.js';
import type { Lanes } from '../lanes/lanes.js';
import type { PartitionLane } from '../lanes/partition-lane.js';
import type { PartitionPauser } from '../pauses/partition-pauser.js';
import type { DrainReport, PartitionObserver } from './consuming-session.js';

export interface LaneDrainParts {
  readonly lanes: Lanes;
  readonly pauser: PartitionPauser;
  readonly committer: Committer;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  readonly observer?: PartitionObserver | undefined;
}

/**
 * Time for the last commit. The rebalance timeout exceeds the drain time by 10 s, of which the
 * commit gets half.
 */
export const FINAL_COMMIT_TIMEOUT_MS = 5_000;

/**
 * Ends lanes. Revocations, stops and shutdowns all use this drain, so that each lane ends exactly
 * once.
 */
export class LaneDrain {
  readonly #draining = new WeakSet<PartitionLane>();

  constructor(private readonly parts: LaneDrainParts) {}

  isDraining(lane: PartitionLane): boolean {
    return this.#draining.has(lane);
  }

  /**
   * Drains lanes:
   *
   * 1. Nothing more is handed out, and retry waits end at once.
   * 2. Running handlers get at most `drainMs`.
   * 3. The lanes end: a handler that returns later moves no watermark, and its record is
   *    redelivered.
   * 4. Completed records are committed.
   * 5. The lanes are removed.
   *
   * For handlers that still run for earlier assignments the drain only waits. If a partition is
   * revoked during a stop, two drains have its lane, and the earlier deadline ends it.
   */
  async drain(
    lanes: readonly PartitionLane[],
    drainMs: number,
    cause: AbortCause,
  ): Promise<DrainReport> {
    const reason = new DeliveryAbortedException(cause);
    const owned = lanes.filter((lane) => this.parts.lanes.owns(lane));
    const former = lanes.filter((lane) => !owned.includes(lane));
    const late = former.flatMap(({ running }) => running);
    for (const lane of owned) this.#stopHandout(lane);
    for (const lane of lanes) lane.abortWaits(reason);
    await waitForHandlers(this.parts.runtime, lanes, drainMs);
    for (const lane of lanes) end(lane, reason);
    try {
      await this.#commit(owned, cause);
    } finally {
      for (const lane of owned) this.#remove(lane);
    }
    if (owned.length > 0) this.parts.observer?.onRevoked(owned, false);
    const isCommitted = owned.every((lane) => lane.commitPoint() === undefined);
    const interrupted = owned.flatMap((lane) => lane.interrupted);
    const abandoned = [...late, ...interrupted].map(placeOf);
    return { complete: isCommitted && abandoned.length === 0, abandoned };
  }

  /**
   * Ends a lane at once and commits nothing, because its offsets belong to another member or to
   * another log.
   */
  drop(lane: PartitionLane, cause: AbortCause): void {
    end(lane, new DeliveryAbortedException(cause));
    this.#remove(lane);
  }

  #stopHandout(lane: PartitionLane): void {
    this.#draining.add(lane);
    this.parts.pauser.stopHandout(lane);
  }

  /** Commits the lanes, except those that another drain has committed and removed meanwhile. */
  async #commit(drained: readonly PartitionLane[], cause: AbortCause): Promise<void> {
    const { lanes, committer, logger } = this.parts;
    const left = drained.filter((lane) => lanes.owns(lane));
    if (left.length === 0) return;
    const isCommitted = await committer.flush(left, FINAL_COMMIT_TIMEOUT_MS);
    logger.info(cause === 'revoked' ? 'Partitions revoked' : 'Partitions released', {
      partitions: left.map(positionOf),
      isCommitted,
    });
  }

  #remove(lane: PartitionLane): void {
    const { lanes, pauser, committer } = this.parts;
    if (!lanes.owns(lane)) return;
    committer.forget(lane);
    lanes.remove(lane);
    pauser.onLaneRemoved(lane);
  }
}

/** Resolves when no handler of these lanes runs any more, or when the timeout is over. */
export async function waitForHandlers(
  runtime: Runtime,
  lanes: readonly PartitionLane[],
  timeoutMs: number,
): Promise<void> {
  const busy = lanes.filter((lane) => lane.running.length > 0);
  if (busy.length === 0 || timeoutMs <= 0) return;
  const idle = Promise.all(busy.map((lane) => lane.whenIdle()));
  await resolvesWithin(runtime, timeoutMs, idle);
}

export function positionOf({ topic, partition, committed, running }: PartitionLane) {
  return { topic, partition, committed, stillRunning: running.length };
}

function end(lane: PartitionLane, reason: DeliveryAbortedException): void {
  if (lane.phase !== 'ended') lane.end();
  lane.abort(reason);
}
