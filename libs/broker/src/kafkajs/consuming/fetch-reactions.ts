import type { BrokerError } from '../../port/errors.js';
import { Backoff, type Runtime } from '../../runtime/index.js';
import { errorOfCode, reactionTo } from '../wire/index.js';
import type { OwnedPartition } from './owned-partition.js';

export interface FetchReactionsHost {
  onOutOfRange(partition: OwnedPartition): void;
  /** The partition cannot be read at the moment; it is asked for again. */
  onTrouble(partition: OwnedPartition, error: Error): void;
}

const BACKOFF = { initialMs: 50, maxMs: 2_000 };
const SHORT_REST_MS = BACKOFF.initialMs;
const REST_BEFORE_RESET_MS = 200;
const REFUSED_REST_MS = 2_000;

/** What comes of a fetch that did not bring records: its partitions rest, and some need more than time. */
export class FetchReactions {
  readonly #backoffs = new Map<number, Backoff>();

  constructor(
    private readonly runtime: Runtime,
    private readonly host: FetchReactionsHost,
    private readonly findLeaders: (partitions: readonly OwnedPartition[]) => void,
  ) {}

  answered(node: number): void {
    this.#backoffs.get(node)?.reset();
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

  /** An answer that leads nowhere, or that leaves the partition out, must not be asked for in a hot loop. */
  fruitless(partition: OwnedPartition): void {
    this.#rest(partition, SHORT_REST_MS);
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
        return this.findLeaders([partition]);
      case 'retry':
        return this.#rest(partition, SHORT_REST_MS);
      default: {
        this.#rest(partition, REFUSED_REST_MS);
        const doing = `Fetching partition ${partition.partition} of "${partition.topic}"`;
        return this.host.onTrouble(partition, errorOfCode(code, doing));
      }
    }
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
