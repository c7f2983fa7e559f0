import type { CommittedOffset } from '../../../port/consumer.js';
import { Backoff } from '../../../runtime/index.js';
import type { Link } from '../link.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import type { OwnedPartition } from './owned-partition.js';
import type { SessionParts } from './session-parts.js';
import type { Start, StartPositions } from './start-positions.js';
import type { TopicWatch } from './topic-watch.js';

export interface Beginning {
  readonly owned: OwnedPartition;
  readonly committed: CommittedOffset | null;
  readonly start: Start;
}

/** Finds out where reading of new partitions starts, for as long as one of them stays. */
export class StartSearch {
  constructor(
    private readonly parts: SessionParts,
    private readonly link: Link,
    private readonly starts: StartPositions,
    private readonly topics: TopicWatch,
  ) {}

  /** Empty when all have left before it was found out. */
  async of(owned: readonly OwnedPartition[]): Promise<readonly Beginning[]> {
    if (owned.length === 0) return [];
    const { status, rest, fail } = this.parts;
    const backoff = new Backoff(this.link.cluster.runtime, { initialMs: 20, maxMs: 1_000 });
    const signal = whenAllLeave(owned);
    while (!signal.aborted) {
      try {
        const beginnings = await this.#ask(owned, signal);
        status.recovered('group');
        return beginnings;
      } catch (error) {
        if (signal.aborted) break;
        const shown = toBrokerError(error);
        if (isRetriable(shown)) status.trouble('group', shown);
        else fail(shown);
        await rest(backoff.next(), signal);
      }
    }
    return [];
  }

  async #ask(owned: readonly OwnedPartition[], signal: AbortSignal): Promise<readonly Beginning[]> {
    const ids = await this.topics.refresh(signal);
    const committed = await this.starts.committed(owned, signal);
    return Promise.all(
      owned.map(async (each, index) => {
        const known = committed[index] ?? null;
        const start = await this.starts.of(each, known, signal);
        each.begin(ids.get(each.topic) ?? '', start.position, known?.leaderEpoch ?? -1);
        return { owned: each, committed: known, start };
      }),
    );
  }
}

/** Aborts once the last of them has left. */
function whenAllLeave(owned: readonly OwnedPartition[]): AbortSignal {
  const control = new AbortController();
  let left = owned.length;
  for (const { leaving } of owned)
    leaving.addEventListener('abort', () => {
      if (--left === 0) control.abort(leaving.reason);
    });
  return control.signal;
}
