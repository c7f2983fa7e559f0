import type { TopicDescription } from '../../../port/admin.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import type { Connection } from '../connection.js';
import { toBrokerError } from '../refusal-errors.js';

const MAX_AGE_MS = 5_000;

/** What is known of a topic; `undefined` while it is looked up, null when there is none. */
type Known = TopicDescription | null | undefined;

export interface TopicLookup {
  readonly topic: string;
  readonly found: TopicDescription | null;
}

/** The topics that a sender writes to, looked up when they are first needed and again as they grow old. */
export class TopicDirectory {
  readonly #topics = new Map<string, { readonly known: TopicDescription; until: number }>();
  readonly #lookups = new Map<string, Promise<void>>();
  /** What went wrong when a topic was last looked up. */
  readonly errors = new Map<string, Error>();

  constructor(
    private readonly connection: Connection,
    private readonly signal: AbortSignal,
  ) {}

  /** What can be relied on now. */
  find(topic: string): TopicDescription | undefined {
    const entry = this.#topics.get(topic);
    const isFresh = entry && entry.until > this.connection.cluster.runtime.monotonic();
    return isFresh ? entry.known : undefined;
  }

  /** What was known last, fresh or not. */
  latest(topic: string): TopicDescription | undefined {
    return this.#topics.get(topic)?.known;
  }

  /** It is looked up again before it is relied on again. */
  invalidate(topic: string): void {
    const entry = this.#topics.get(topic);
    if (entry) entry.until = -Infinity;
  }

  /** Looks again and again, for as long as `isWanted`; tells after each look. */
  watch(topic: string, isWanted: () => boolean, onLooked: (looked: TopicLookup) => void): void {
    if (this.#lookups.has(topic)) return;
    const watching = this.#watch(topic, isWanted, onLooked).finally(() => {
      this.#lookups.delete(topic);
      if (isWanted() && !this.signal.aborted) this.watch(topic, isWanted, onLooked);
    });
    this.#lookups.set(topic, watching);
  }

  async #watch(
    topic: string,
    isWanted: () => boolean,
    onLooked: (looked: TopicLookup) => void,
  ): Promise<void> {
    const { runtime } = this.connection.cluster;
    const backoff = new Backoff(runtime, { initialMs: 20, maxMs: 500 });
    while (isWanted() && !this.signal.aborted) {
      const found = await this.#look(topic);
      if (found !== undefined) onLooked({ topic, found });
      if (!isWanted() || this.signal.aborted) return;
      await sleep(runtime, backoff.next(), this.signal).catch(() => undefined);
    }
  }

  async #look(topic: string): Promise<Known> {
    try {
      const [found = null] = await this.connection.metadata([topic], { signal: this.signal });
      this.errors.delete(topic);
      const until = this.connection.cluster.runtime.monotonic() + MAX_AGE_MS;
      if (found) this.#topics.set(topic, { known: found, until });
      return found;
    } catch (error) {
      this.errors.set(topic, toBrokerError(error));
      return undefined;
    }
  }
}
