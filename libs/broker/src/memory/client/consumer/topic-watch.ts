import type { TopicDescription } from '../../../port/admin.js';
import { UnknownTopicError } from '../../../port/errors.js';
import { Backoff } from '../../../runtime/index.js';
import type { Connection } from '../connection.js';
import { isRetriable, toBrokerError } from '../refusal-errors.js';
import { partitionCounts, type LeaderPlan } from './group-client.js';
import type { SessionContext } from './session-context.js';

/** The metadata of the session's topics, refreshed periodically. */
export class TopicWatch {
  readonly #ids = new Map<string, string>();

  constructor(
    private readonly connection: Connection,
    private readonly topics: readonly string[],
    private readonly context: SessionContext,
    private readonly maxAgeMs: number,
  ) {}

  idOf(topic: string): string | null {
    return this.#ids.get(topic) ?? null;
  }

  /** Waits until all topics exist, and reports the missing one as a status. */
  async untilAllExist(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(this.connection.cluster.runtime, { initialMs: 50, maxMs: 2_000 });
    while (!signal.aborted) {
      const known = await this.#tryRefresh(signal);
      if (known && this.topics.every((topic) => known.has(topic))) return;
      await this.context.delay(backoff.next(), signal);
    }
  }

  /** Returns the current topic ids; a missing topic is reported as a status. */
  async refresh(signal: AbortSignal): Promise<ReadonlyMap<string, string>> {
    const found = await this.connection.metadata(this.topics, { signal });
    for (const topic of this.topics) this.#ids.delete(topic);
    for (const { name, id } of found) if (id !== null) this.#ids.set(name, id);
    const missing = this.topics.find((topic) => !this.#ids.has(topic));
    if (missing === undefined) this.context.status.recovered('topics');
    else this.context.status.retrying('topics', new UnknownTopicError(missing));
    return this.#ids;
  }

  /** Resolves when the metadata differs from that of the leader's plan; never for other members. */
  async untilChanged(plan: LeaderPlan, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await this.context.delay(this.maxAgeMs, signal);
      const known = signal.aborted ? undefined : await this.#tryRefresh(signal);
      if (known && plan.basis && (await this.#differs(plan.basis, signal))) return;
    }
  }

  async #differs(basis: NonNullable<LeaderPlan['basis']>, signal: AbortSignal): Promise<boolean> {
    const found = await this.connection.metadata(basis.topics, { signal }).catch(() => undefined);
    return found !== undefined && !hasSameCounts(basis.partitionsOf, found);
  }

  async #tryRefresh(signal: AbortSignal): Promise<ReadonlyMap<string, string> | undefined> {
    try {
      return await this.refresh(signal);
    } catch (error) {
      if (signal.aborted) return undefined;
      const shown = toBrokerError(error);
      if (isRetriable(shown)) this.context.status.retrying('topics', shown);
      else this.context.fail(shown);
      return undefined;
    }
  }
}

function hasSameCounts(
  planned: ReadonlyMap<string, number>,
  topics: readonly TopicDescription[],
): boolean {
  const now = partitionCounts(topics);
  return (
    now.size === planned.size && [...now].every(([name, count]) => planned.get(name) === count)
  );
}
