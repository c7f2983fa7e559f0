import type {
  AssignedPartition,
  AssignmentListener,
  OffsetCommit,
} from '../../../port/consumer.js';
import type { PartitionError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { within, type Runtime } from '../../../runtime/index.js';
import { OwnedPartition } from './owned-partition.js';
import type { SessionContext } from './session-context.js';
import type { StartPosition } from './start-positions.js';
import type { PartitionStart, StartSearch } from './start-search.js';

/** For longer a start that is not stored yet does not hold up a hand-back, nor the end of the session. */
const MAX_START_COMMIT_MS = 5_000;
/** Of the rebalance time-out, where that is less. */
const START_COMMIT_SHARE = 0.5;

/**
 * Leads partitions in and out, and tells the listener. Its callbacks are called one after the
 * other; a loss waits for none of them, and one that throws is reported and stops nothing.
 */
export class PartitionLifecycle {
  #listener: AssignmentListener | undefined;
  readonly #announced = new WeakSet<OwnedPartition>();
  readonly #lost: TopicPartition[] = [];
  /** Whose start is being committed. */
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

  /** They are ours from here on; their records come once the listener has been told. */
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

  /** What is handed out before its start is stored may be committed sooner, and taken back by that. */
  #serve(owned: OwnedPartition): void {
    const kept = this.#startCommits.get(owned);
    if (!kept) return void (owned.isServed = this.#isOwned(owned));
    void kept.then(() => {
      owned.isServed = this.#isOwned(owned);
      this.context.wake();
    });
  }

  /** They are still ours while the listener is told; nothing of them is handed out any more. */
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

  /** They are somebody else's: from this moment on commits are fenced. */
  markLost(partitions: readonly TopicPartition[]): void {
    this.#lost.push(...this.#announcedOf(this.#stopServing(partitions)));
    // Whatever the listener is still at has been given up.
    this.#lastCallback = Promise.resolve();
    this.context.ownership.remove(partitions);
  }

  /** Tells of what was forfeited. */
  async notifyLost(): Promise<void> {
    const lost = this.#lost.splice(0);
    if (lost.length === 0) return;
    const told = this.#notify((listener) => listener.onLost(lost));
    this.#lastCallback = this.#atMostRebalanceTimeout(told);
    await told;
  }

  async stop(owned: OwnedPartition, error: PartitionError): Promise<void> {
    owned.stop(error);
    await this.#notify((listener) => listener.onStopped?.(error));
  }

  /** After the policy was asked where to go on. */
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

  /** Also of those that are on their way out again: whoever is next would look for a start anew. */
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

  /** Taken away before, where they start would be looked for again, and what was written meanwhile passed over. */
  async #waitForStartCommits(owned: readonly OwnedPartition[]): Promise<void> {
    const { runtime, rebalanceTimeoutMs } = this.limits;
    const kept = owned.flatMap((each) => this.#startCommits.get(each) ?? []);
    if (kept.length === 0) return;
    const late = (): Error => new Error('Where partitions start was not stored in time.');
    const patienceMs = Math.min(rebalanceTimeoutMs * START_COMMIT_SHARE, MAX_START_COMMIT_MS);
    await within(runtime, patienceMs, Promise.all(kept), late).catch(() => undefined);
  }

  #stopServing(partitions: readonly TopicPartition[]): readonly OwnedPartition[] {
    const owned = partitions.flatMap((each) => this.context.ownership.get(each) ?? []);
    for (const each of owned) each.release();
    return owned;
  }

  /** Those of which the listener has been told. */
  #announcedOf(owned: readonly OwnedPartition[]): TopicPartition[] {
    return owned
      .filter((each) => this.#announced.has(each))
      .map(({ topic, partition }) => ({ topic, partition }));
  }

  #isOwned(owned: OwnedPartition): boolean {
    return this.context.ownership.get(owned) === owned && !owned.released.aborted;
  }

  /** The group has gone on by then: what it gives next is told, though nobody has dealt with the loss. */
  #atMostRebalanceTimeout(told: Promise<void>): Promise<void> {
    const { runtime, rebalanceTimeoutMs } = this.limits;
    const late = (): Error => new Error('onLost does not end.');
    return within(runtime, rebalanceTimeoutMs, told, late).catch(() => undefined);
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

/** Where it starts, if that must not be looked for again: what is written meanwhile would be passed over. */
function startToCommit({ owned, start: { reset } }: PartitionStart): OffsetCommit | undefined {
  if (!reset || owned.commits > 0 || owned.position < 0) return undefined;
  if (reset.reason !== 'new-partition' && reset.policy !== 'latest') return undefined;
  const { topic, partition, position: offset } = owned;
  return { topic, partition, offset };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(`A listener threw ${String(error)}.`);
}
