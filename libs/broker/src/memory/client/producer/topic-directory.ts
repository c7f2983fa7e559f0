import type { TopicDescription } from '../../../port/admin.js';
import { Backoff, sleep } from '../../../runtime/index.js';
import type { Connection } from '../connection.js';
import { toBrokerError } from '../refusal-errors.js';

const MAX_AGE_MS = 5_000;

/** The metadata of a topic; `undefined` while it is looked up, null if the topic does not exist. */
type Known = TopicDescription | null | undefined;

export interface TopicLookup {
  readonly topic: string;
  readonly found: TopicDescription | null;
}

/**
 * The metadata of topics that a producer writes to, looked up at first use and again when it is too
 * old.
 */
export class TopicDirectory {
  readonly #topics = new Map<string, { readonly known: TopicDescription; until: number }>();
  readonly #lookups = new Map<string, Promise<void>>();
  /** The error of the last lookup, by topic. */
  readonly errors = new Map<string, Error>();

  constructor(
    private readonly connection: Connection,
    private readonly signal: AbortSignal,
  ) {}

  /** Returns the metadata if it is recent. */
  find(topic: string): TopicDescription | undefined {
    const entry = this.#topics.get(topic);
    const isFresh = entry && entry.until > this.connection.cluster.runtime.monotonic();
    return isFresh ? entry.known : undefined;
  }

  /** Returns the last known metadata, recent or not. */
  latest(topic: string): TopicDescription | undefined {
    return this.#topics.get(topic)?.known;
  }

  /** Marks the metadata as outdated. */
  invalidate(topic: string): void {
    const entry = this.#topics.get(topic);
    if (entry) entry.until = -Infinity;
  }

  /** Looks the topic up repeatedly while `isWanted`; calls back after each lookup. */
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
