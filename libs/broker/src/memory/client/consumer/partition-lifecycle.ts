import type {
  AssignedPartition,
  AssignmentListener,
  OffsetCommit,
} from '../../../port/consumer.js';
import { ownError } from '../../../port/error-text.js';
import type { PartitionError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { within, type Runtime } from '../../../runtime/index.js';
import { OwnedPartition } from './owned-partition.js';
import type { SessionContext } from './session-context.js';
import type { StartPosition } from './start-positions.js';
import type { PartitionStart, StartSearch } from './start-search.js';

/**
 * The longest time for which the pending commit of a start position delays a revocation or the
 * close.
 */
const MAX_START_COMMIT_MS = 5_000;
/**
 * The part of the rebalance timeout that limits the same wait. The shorter of the two limits
 * applies.
 */
const START_COMMIT_SHARE = 0.5;

/**
 * Adds and removes partitions, and calls the listener. Callbacks run one after the other, but a
 * loss does not wait for earlier ones. The error of a callback is reported and stops nothing.
 */
export class PartitionLifecycle {
  #listener: AssignmentListener | undefined;
  readonly #announced = new WeakSet<OwnedPartition>();
  readonly #lost: TopicPartition[] = [];
  /** Pending commits of start positions. */
  readonly #startCommits = new Map<OwnedPartition, Promise<void>>();
  #lastCallback: Promise<void> = Promise.resolve();

  constructor(
    private readonly context: SessionContext,
    private readonly search: StartSearch,
    private readonly limits: { readonly runtime: Runtime; readonly rebalanceTimeoutMs: number },
  ) {}

  listen(listener: AssignmentListener): void {
    this.#listener = listener;
  }

  /** Adds partitions. Their records are returned after `onAssigned`. */
  async assign(partitions: readonly TopicPartition[]): Promise<void> {
    const owned = partitions.map((partition) => new OwnedPartition(partition));
    this.context.ownership.add(owned);
    const beginnings = await this.search.find(owned);
    await this.#notify(async (listener) => {
      const present = beginnings.filter(({ owned: each }) => this.#isOwned(each));
      if (partitions.length > 0 && present.length === 0) return;
      for (const { owned: each } of present) this.#announced.add(each);
      try {
        await listener.onAssigned(present.map(toAssignedPartition));
      } finally {
        this.#commitStarts(present);
      }
    });
    for (const { owned: each, start } of beginnings) await this.#notifyStart(each, start);
    for (const { owned: each } of beginnings) this.#serve(each);
    this.context.wake();
  }

  /**
   * Lets records be returned only after the start position is stored. Otherwise that commit could
   * overwrite a later one.
   */
  #serve(owned: OwnedPartition): void {
    const kept = this.#startCommits.get(owned);
    if (!kept) return void (owned.isServed = this.#isOwned(owned));
    void kept.then(() => {
      owned.isServed = this.#isOwned(owned);
      this.context.wake();
    });
  }

  /**
   * Revokes partitions. They stay owned during the callback, but their records are no longer
   * returned.
   */
  async revoke(partitions: readonly TopicPartition[]): Promise<void> {
    const owned = this.#stopServing(partitions);
    await this.#notify(async (listener) => {
      const known = this.#announcedOf(owned);
      const kept = this.#waitForStartCommits(owned);
      try {
        if (known.length > 0) await listener.onRevoked(known);
      } finally {
        await kept;
      }
    });
  }

  release(partitions: readonly TopicPartition[]): void {
    this.context.ownership.remove(partitions);
  }

  /** Removes lost partitions. From now on their commits are fenced. */
  markLost(partitions: readonly TopicPartition[]): void {
    this.#lost.push(...this.#announcedOf(this.#stopServing(partitions)));
    // The next callback does not wait for one that still runs.
    this.#lastCallback = Promise.resolve();
    this.context.ownership.remove(partitions);
  }

  /** Calls `onLost` for the lost partitions. */
  async notifyLost(): Promise<void> {
    const lost = this.#lost.splice(0);
    if (lost.length === 0) return;
    const callback = this.#notify((listener) => listener.onLost(lost));
    this.#lastCallback = this.#atMostRebalanceTimeout(callback);
    await callback;
  }

  async stop(owned: OwnedPartition, error: PartitionError): Promise<void> {
    owned.stop(error);
    await this.#notify((listener) => listener.onStopped?.(error));
  }

  /** Continues at the start position that `offsetReset` has determined. */
  async restart(owned: OwnedPartition, from: number, start: StartPosition): Promise<void> {
    if (!this.#isOwned(owned) || owned.position !== from) return;
    if (start.stopped) return this.stop(owned, start.stopped);
    owned.moveTo(start.position);
    await this.#notifyStart(owned, start);
    this.context.notifier.notify();
  }

  async #notifyStart(
    owned: OwnedPartition,
    { position, reset, stopped }: StartPosition,
  ): Promise<void> {
    if (!this.#isOwned(owned) || owned.position !== position) return;
    if (stopped) await this.stop(owned, stopped);
    if (reset) await this.#notify((listener) => listener.onReset?.(reset));
  }

  /**
   * Commits start positions, also of partitions that are already being revoked. Otherwise their
   * next owner would determine another start position.
   */
  #commitStarts(beginnings: readonly PartitionStart[]): void {
    const { ownership } = this.context;
    const beginning = beginnings.flatMap(({ owned, ...rest }) => {
      const start = ownership.get(owned) === owned && startToCommit({ owned, ...rest });
      return start ? [{ owned, start }] : [];
    });
    if (beginning.length === 0) return;
    const kept = this.context.commitStarts(beginning.map(({ start }) => start));
    for (const { owned } of beginning) this.#startCommits.set(owned, kept);
    void kept.then(() => {
      for (const { owned } of beginning) this.#startCommits.delete(owned);
    });
  }

  /**
   * Waits for the commits of start positions. Without them the next owner would determine another
   * start position and skip the records that were written in between.
   */
  async #waitForStartCommits(owned: readonly OwnedPartition[]): Promise<void> {
    const { runtime, rebalanceTimeoutMs } = this.limits;
    const kept = owned.flatMap((each) => this.#startCommits.get(each) ?? []);
    if (kept.length === 0) return;
    const late = (): Error => new Error('The start positions were not stored in time.');
    const patienceMs = Math.min(rebalanceTimeoutMs * START_COMMIT_SHARE, MAX_START_COMMIT_MS);
    await within(runtime, patienceMs, Promise.all(kept), late).catch(() => undefined);
  }

  #stopServing(partitions: readonly TopicPartition[]): readonly OwnedPartition[] {
    const owned = partitions.flatMap((each) => this.context.ownership.get(each) ?? []);
    for (const each of owned) each.release();
    return owned;
  }

  /** Returns the partitions that were passed to `onAssigned`. */
  #announcedOf(owned: readonly OwnedPartition[]): TopicPartition[] {
    return owned
      .filter((each) => this.#announced.has(each))
      .map(({ topic, partition }) => ({ topic, partition }));
  }

  #isOwned(owned: OwnedPartition): boolean {
    return this.context.ownership.get(owned) === owned && !owned.released.aborted;
  }

  /**
   * Limits the wait for `onLost`. The group continues, so the next assignment is announced even if
   * the callback has not ended.
   */
  #atMostRebalanceTimeout(callback: Promise<void>): Promise<void> {
    const { runtime, rebalanceTimeoutMs } = this.limits;
    const late = (): Error => new Error('onLost did not end in time.');
    return within(runtime, rebalanceTimeoutMs, callback, late).catch(() => undefined);
  }

  #notify(call: (listener: AssignmentListener) => void | Promise<void>): Promise<void> {
    const turn = this.#lastCallback.then(async () => {
      try {
        if (this.#listener) await call(this.#listener);
      } catch (error) {
        this.context.status.report(asError(error));
      }
    });
    this.#lastCallback = turn;
    return turn;
  }
}

function toAssignedPartition({ owned, committed }: PartitionStart): AssignedPartition {
  const { topic, partition, position } = owned;
  return { topic, partition, position, committed };
}

/**
 * Returns the start position if it must be committed, because a later lookup could find another one
 * and skip records.
 */
function startToCommit({ owned, start: { reset } }: PartitionStart): OffsetCommit | undefined {
  if (!reset || owned.commits > 0 || owned.position < 0) return undefined;
  if (reset.reason !== 'new-partition' && reset.policy !== 'latest') return undefined;
  const { topic, partition, position: offset } = owned;
  return { topic, partition, offset };
}

function asError(error: unknown): Error {
  if (error instanceof Error) return error;
  return ownError(new Error('A listener threw something that is not an Error.'));
}
