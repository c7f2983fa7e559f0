import type { BrokerError } from '../../../port/errors.js';
import { Backoff, type Runtime } from '../../../runtime/index.js';
import { errorOfCode, reactionTo } from '../../../wire/index.js';
import type { OwnedPartition } from './owned-partition.js';
import { StalledPartitions } from './stalled-partitions.js';

export interface FetchErrorCallbacks {
  onOutOfRange(partition: OwnedPartition): void;
  /** The partition cannot be read at the moment; it is asked for again. */
  onError(partition: OwnedPartition, error: Error): void;
}

const BACKOFF = { initialMs: 50, maxMs: 2_000 };
const SHORT_BACKOFF_MS = BACKOFF.initialMs;
const BACKOFF_BEFORE_RESET_MS = 200;
const REFUSED_BACKOFF_MS = 2_000;
const LEADER_NOT_AVAILABLE = 5;

/** What comes of a fetch that did not bring records: its partitions rest, and some need more than time. */
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

  /** The partition can be read. */
  partitionSucceeded(partition: OwnedPartition): void {
    this.#stalled.recordSuccess(partition);
  }

  /** The whole request failed. */
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

  /** An answer that leads nowhere, or that leaves the partition out, must not be asked for in a hot loop. A broker over whose quota we are gives such answers: they are no trouble. */
  backOffBriefly(partition: OwnedPartition): void {
    this.#backOff(partition, SHORT_BACKOFF_MS);
  }

  leaderMissing(partition: OwnedPartition): void {
    this.#reportIfStalled(partition, fetchError(partition, LEADER_NOT_AVAILABLE));
  }

  /** What a replica near us refuses, its leader may give: only that one's word counts. */
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

  /** What mends itself as a rule is no trouble until it does not. */
  #reportIfStalled(partition: OwnedPartition, error: BrokerError): void {
    if (this.#stalled.recordFailure(partition)) this.callbacks.onError(partition, error);
  }

  #outOfRange(partition: OwnedPartition): void {
    // What was fetched ahead is handed out first: a reset would pass it over.
    if (partition.hasChunks) return this.#backOff(partition, BACKOFF_BEFORE_RESET_MS);
    // Not asked for again until the session has decided where to go on.
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
