import type { BrokerError } from '../../../port/errors.js';
import { Backoff, type Runtime } from '../../../runtime/index.js';
import { errorOfCode, reactionTo } from '../../../wire/index.js';
import type { OwnedPartition } from './owned-partition.js';
import { Standstills } from './stalled-partitions.js';

export interface FetchReactionsHost {
  onOutOfRange(partition: OwnedPartition): void;
  /** The partition cannot be read at the moment; it is asked for again. */
  onTrouble(partition: OwnedPartition, error: Error): void;
}

const BACKOFF = { initialMs: 50, maxMs: 2_000 };
const SHORT_REST_MS = BACKOFF.initialMs;
const REST_BEFORE_RESET_MS = 200;
const REFUSED_REST_MS = 2_000;
const LEADER_NOT_AVAILABLE = 5;

/** What comes of a fetch that did not bring records: its partitions rest, and some need more than time. */
export class FetchReactions {
  readonly #backoffs = new Map<number, Backoff>();
  readonly #standstills: Standstills;

  constructor(
    private readonly runtime: Runtime,
    private readonly host: FetchReactionsHost,
    private readonly findLeaders: (partitions: readonly OwnedPartition[]) => void,
  ) {
    this.#standstills = new Standstills(runtime);
  }

  answered(node: number): void {
    this.#backoffs.get(node)?.reset();
  }

  /** The partition can be read. */
  accepted(partition: OwnedPartition): void {
    this.#standstills.over(partition);
  }

  /** The whole request failed. */
  failed(node: number, partitions: readonly OwnedPartition[], error: BrokerError): void {
    const restMs = this.#backoff(node).next();
    const now = this.runtime.monotonic();
    for (const partition of partitions) {
      partition.nearby.avoid(now);
      this.#rest(partition, restMs);
      this.host.onTrouble(partition, error);
    }
    this.findLeaders(partitions);
  }

  /** An answer that leads nowhere, or that leaves the partition out, must not be asked for in a hot loop. A broker over whose quota we are gives such answers: they are no trouble. */
  fruitless(partition: OwnedPartition): void {
    this.#rest(partition, SHORT_REST_MS);
  }

  leaderless(partition: OwnedPartition): void {
    this.#tellWhenItLasts(partition, errorOf(partition, LEADER_NOT_AVAILABLE));
  }

  /** What a replica near us refuses, its leader may give: only that one's word counts. */
  refused(partition: OwnedPartition, code: number): void {
    const now = this.runtime.monotonic();
    if (partition.nearby.at(now) !== undefined) {
      partition.nearby.avoid(now);
      return this.fruitless(partition);
    }
    switch (reactionTo('fetch', code)) {
      case 'out-of-range':
        return this.#outOfRange(partition);
      case 'refresh-metadata':
        this.#rest(partition, SHORT_REST_MS);
        this.#tellWhenItLasts(partition, errorOf(partition, code));
        return this.findLeaders([partition]);
      case 'retry':
        this.#rest(partition, SHORT_REST_MS);
        return this.#tellWhenItLasts(partition, errorOf(partition, code));
      default:
        this.#rest(partition, REFUSED_REST_MS);
        return this.host.onTrouble(partition, errorOf(partition, code));
    }
  }

  /** What mends itself as a rule is no trouble until it does not. */
  #tellWhenItLasts(partition: OwnedPartition, error: BrokerError): void {
    if (this.#standstills.lasts(partition)) this.host.onTrouble(partition, error);
  }

  #outOfRange(partition: OwnedPartition): void {
    // What was fetched ahead is handed out first: a reset would pass it over.
    if (partition.hasChunks) return this.#rest(partition, REST_BEFORE_RESET_MS);
    // Not asked for again until the session has decided where to go on.
    partition.restUntil = Infinity;
    this.host.onOutOfRange(partition);
  }

  #backoff(node: number): Backoff {
    const known = this.#backoffs.get(node);
    if (known) return known;
    const made = new Backoff(this.runtime, BACKOFF);
    this.#backoffs.set(node, made);
    return made;
  }

  #rest(partition: OwnedPartition, delayMs: number): void {
    partition.restUntil = this.runtime.monotonic() + delayMs;
  }
}

function errorOf({ topic, partition }: OwnedPartition, code: number): BrokerError {
  return errorOfCode(code, `Fetching partition ${partition} of "${topic}"`);
}
