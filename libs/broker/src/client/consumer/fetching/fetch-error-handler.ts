import type { BrokerError } from '../../../port/errors.js';
import { Backoff, type Runtime } from '../../../runtime/index.js';
import { errorOfCode, reactionTo } from '../../../wire/index.js';
import type { OwnedPartition } from './owned-partition.js';
import { StalledPartitions } from './stalled-partitions.js';

export interface FetchErrorCallbacks {
  onOutOfRange(partition: OwnedPartition): void;
  /** Called when the partition cannot be read at the moment. The fetcher repeats the fetch. */
  onError(partition: OwnedPartition, error: Error): void;
}

const BACKOFF = { initialMs: 50, maxMs: 2_000 };
const SHORT_BACKOFF_MS = BACKOFF.initialMs;
const BACKOFF_BEFORE_RESET_MS = 200;
const REFUSED_BACKOFF_MS = 2_000;
const LEADER_NOT_AVAILABLE = 5;

/**
 * Decides what follows a fetch without records: the partition backs off, and may need a new leader
 * or a new offset.
 */
export class FetchErrorHandler {
  readonly #backoffs = new Map<number, Backoff>();
  readonly #stalled: StalledPartitions;

  constructor(
    private readonly runtime: Runtime,
    private readonly callbacks: FetchErrorCallbacks,
    private readonly findLeaders: (partitions: readonly OwnedPartition[]) => void,
  ) {
    this.#stalled = new StalledPartitions(runtime);
  }

  requestSucceeded(node: number): void {
    this.#backoffs.get(node)?.reset();
  }

  /** Deletes the failures of a partition that was read successfully. */
  partitionSucceeded(partition: OwnedPartition): void {
    this.#stalled.recordSuccess(partition);
  }

  /** Backs off all partitions of a request that failed as a whole. */
  requestFailed(node: number, partitions: readonly OwnedPartition[], error: BrokerError): void {
    const backoffMs = this.#backoffOf(node).next();
    const now = this.runtime.monotonic();
    for (const partition of partitions) {
      partition.preferredReplica.avoid(now);
      this.#backOff(partition, backoffMs);
      this.callbacks.onError(partition, error);
    }
    this.findLeaders(partitions);
  }

  /**
   * Backs off briefly, so that an empty or incomplete response does not cause a hot loop. A broker
   * sends such a response if the client exceeds its quota, so it is not an error.
   */
  backOffBriefly(partition: OwnedPartition): void {
    this.#backOff(partition, SHORT_BACKOFF_MS);
  }

  leaderMissing(partition: OwnedPartition): void {
    this.#reportIfStalled(partition, fetchError(partition, LEADER_NOT_AVAILABLE));
  }

  /**
   * Handles the error of one partition. An error of a preferred replica is not reported: the leader
   * is asked next, and only an error of the leader counts.
   */
  partitionFailed(partition: OwnedPartition, code: number): void {
    const now = this.runtime.monotonic();
    if (partition.preferredReplica.current(now) !== undefined) {
      partition.preferredReplica.avoid(now);
      return this.backOffBriefly(partition);
    }
    switch (reactionTo('fetch', code)) {
      case 'out-of-range':
        return this.#outOfRange(partition);
      case 'refresh-metadata':
        this.#backOff(partition, SHORT_BACKOFF_MS);
        this.#reportIfStalled(partition, fetchError(partition, code));
        return this.findLeaders([partition]);
      case 'retry':
        this.#backOff(partition, SHORT_BACKOFF_MS);
        return this.#reportIfStalled(partition, fetchError(partition, code));
      default:
        this.#backOff(partition, REFUSED_BACKOFF_MS);
        return this.callbacks.onError(partition, fetchError(partition, code));
    }
  }

  /**
   * Reports an error only if it persists, because a leader change is usually over within two
   * seconds.
   */
  #reportIfStalled(partition: OwnedPartition, error: BrokerError): void {
    if (this.#stalled.recordFailure(partition)) this.callbacks.onError(partition, error);
  }

  #outOfRange(partition: OwnedPartition): void {
    // Fetched records are delivered before the reset, because a reset would skip them.
    if (partition.hasChunks) return this.#backOff(partition, BACKOFF_BEFORE_RESET_MS);
    // Stops fetching the partition until the session has set a new position.
    partition.backoffUntil = Infinity;
    this.callbacks.onOutOfRange(partition);
  }

  #backoffOf(node: number): Backoff {
    const known = this.#backoffs.get(node);
    if (known) return known;
    const created = new Backoff(this.runtime, BACKOFF);
    this.#backoffs.set(node, created);
    return created;
  }

  #backOff(partition: OwnedPartition, delayMs: number): void {
    partition.backoffUntil = this.runtime.monotonic() + delayMs;
  }
}

function fetchError({ topic, partition }: OwnedPartition, code: number): BrokerError {
  return errorOfCode(code, `Fetching partition ${partition} of "${topic}"`);
}
