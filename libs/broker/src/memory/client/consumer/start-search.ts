import type { CommittedOffset } from '../../../port/consumer.js';
import { Backoff } from '../../../runtime/index.js';
import type { Connection } from '../connection.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { OwnedPartition } from './owned-partition.js';
import type { SessionContext } from './session-context.js';
import type { StartPosition, StartPositions } from './start-positions.js';
import type { TopicWatch } from './topic-watch.js';

export interface PartitionStart {
  readonly owned: OwnedPartition;
  readonly committed: CommittedOffset | null;
  readonly start: StartPosition;
}

/** Determines the start positions of new partitions, as long as one of them stays assigned. */
export class StartSearch {
  constructor(
    private readonly context: SessionContext,
    private readonly connection: Connection,
    private readonly starts: StartPositions,
    private readonly topics: TopicWatch,
  ) {}

  /** Returns the start positions; empty if all partitions were released before. */
  async find(owned: readonly OwnedPartition[]): Promise<readonly PartitionStart[]> {
    if (owned.length === 0) return [];
    const { status, delay, fail } = this.context;
    const backoff = new Backoff(this.connection.cluster.runtime, { initialMs: 20, maxMs: 1_000 });
    const signal = abortedWhenAllReleased(owned);
    while (!signal.aborted) {
      try {
        const beginnings = await this.#lookUp(owned, signal);
        status.recovered('group');
        return beginnings;
      } catch (error) {
        if (signal.aborted) break;
        const shown = toBrokerError(error);
        if (isRetriable(shown)) status.retrying('group', shown);
        else fail(shown);
        await delay(backoff.next(), signal);
      }
    }
    return [];
  }

  async #lookUp(
    owned: readonly OwnedPartition[],
    signal: AbortSignal,
  ): Promise<readonly PartitionStart[]> {
    const ids = await this.topics.refresh(signal);
    const committed = await this.starts.committed(owned, signal);
    return Promise.all(
      owned.map(async (each, index) => {
        const known = committed[index] ?? null;
        const start = await this.starts.resolve(each, known, signal);
        each.startAt(ids.get(each.topic) ?? '', start.position, known?.leaderEpoch ?? -1);
        return { owned: each, committed: known, start };
      }),
    );
  }
}

/** Returns a signal that aborts when the last partition is released. */
function abortedWhenAllReleased(owned: readonly OwnedPartition[]): AbortSignal {
  const control = new AbortController();
  let left = owned.length;
  for (const { released } of owned)
    released.addEventListener('abort', () => {
      if (--left === 0) control.abort(released.reason);
    });
  return control.signal;
}
