import type {
  AssignedPartition,
  AssignmentListener,
  OffsetCommit,
} from '../../../port/consumer.js';
import type { PartitionError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { within, type Runtime } from '../../../runtime/index.js';
import { OwnedPartition } from './owned-partition.js';
import type { SessionParts } from './session-parts.js';
import type { Start } from './start-positions.js';
import type { Beginning, StartSearch } from './start-search.js';

/** For longer a start that is not stored yet does not hold up a hand-back, nor the end of the session. */
const LONGEST_WAIT_FOR_STARTS_MS = 5_000;
/** Of the rebalance time-out, where that is less. */
const SHARE_FOR_STARTS = 0.5;

/**
 * Leads partitions in and out, and tells the listener. Its callbacks are called one after the
 * other; a loss waits for none of them, and one that throws is reported and stops nothing.
 */
export class AssignmentRoad {
  #listener: AssignmentListener | undefined;
  readonly #announced = new WeakSet<OwnedPartition>();
  readonly #lost: TopicPartition[] = [];
  /** Whose start is being committed. */
  readonly #keeping = new Map<OwnedPartition, Promise<void>>();
  #callbacks: Promise<void> = Promise.resolve();

  constructor(
    private readonly parts: SessionParts,
    private readonly search: StartSearch,
    private readonly limits: { readonly runtime: Runtime; readonly rebalanceTimeoutMs: number },
  ) {}

  listen(listener: AssignmentListener): void {
    this.#listener = listener;
  }

  /** They are ours from here on; their records come once the listener has been told. */
  async assign(partitions: readonly TopicPartition[]): Promise<void> {
    const owned = partitions.map((partition) => new OwnedPartition(partition));
    this.parts.ownership.add(owned);
    const beginnings = await this.search.of(owned);
    await this.#tell(async (listener) => {
      const present = beginnings.filter(({ owned: each }) => this.#isStaying(each));
      if (partitions.length > 0 && present.length === 0) return;
      for (const { owned: each } of present) this.#announced.add(each);
      try {
        await listener.onAssigned(present.map(assignedOf));
      } finally {
        this.#keep(present);
      }
    });
    for (const { owned: each, start } of beginnings) await this.#tellStart(each, start);
    for (const { owned: each } of beginnings) this.#serve(each);
    this.parts.wake();
  }

  /** What is handed out before its start is stored may be committed sooner, and taken back by that. */
  #serve(owned: OwnedPartition): void {
    const kept = this.#keeping.get(owned);
    if (!kept) return void (owned.isServed = this.#isStaying(owned));
    void kept.then(() => {
      owned.isServed = this.#isStaying(owned);
      this.parts.wake();
    });
  }

  /** They are still ours while the listener is told; nothing of them is handed out any more. */
  async revoke(partitions: readonly TopicPartition[]): Promise<void> {
    const owned = this.#leave(partitions);
    await this.#tell(async (listener) => {
      const known = this.#known(owned);
      const kept = this.#untilKept(owned);
      try {
        if (known.length > 0) await listener.onRevoked(known);
      } finally {
        await kept;
      }
    });
  }

  release(partitions: readonly TopicPartition[]): void {
    this.parts.ownership.remove(partitions);
  }

  /** They are somebody else's: from this moment on commits are fenced. */
  forfeit(partitions: readonly TopicPartition[]): void {
    this.#lost.push(...this.#known(this.#leave(partitions)));
    // Whatever the listener is still at has been given up.
    this.#callbacks = Promise.resolve();
    this.parts.ownership.remove(partitions);
  }

  /** Tells of what was forfeited. */
  async tellLoss(): Promise<void> {
    const lost = this.#lost.splice(0);
    if (lost.length === 0) return;
    const told = this.#tell((listener) => listener.onLost(lost));
    this.#callbacks = this.#forAWhile(told);
    await told;
  }

  async stop(owned: OwnedPartition, error: PartitionError): Promise<void> {
    owned.stop(error);
    await this.#tell((listener) => listener.onStopped?.(error));
  }

  /** After the policy was asked where to go on. */
  async restart(owned: OwnedPartition, from: number, start: Start): Promise<void> {
    if (!this.#isStaying(owned) || owned.position !== from) return;
    if (start.stopped) return this.stop(owned, start.stopped);
    owned.moveTo(start.position);
    await this.#tellStart(owned, start);
    this.parts.bell.ring();
  }

  async #tellStart(owned: OwnedPartition, { position, reset, stopped }: Start): Promise<void> {
    if (!this.#isStaying(owned) || owned.position !== position) return;
    if (stopped) await this.stop(owned, stopped);
    if (reset) await this.#tell((listener) => listener.onReset?.(reset));
  }

  /** Also of those that are on their way out again: whoever is next would look for a start anew. */
  #keep(beginnings: readonly Beginning[]): void {
    const { ownership } = this.parts;
    const beginning = beginnings.flatMap(({ owned, ...rest }) => {
      const start = ownership.get(owned) === owned && startToKeep({ owned, ...rest });
      return start ? [{ owned, start }] : [];
    });
    if (beginning.length === 0) return;
    const kept = this.parts.keep(beginning.map(({ start }) => start));
    for (const { owned } of beginning) this.#keeping.set(owned, kept);
    void kept.then(() => {
      for (const { owned } of beginning) this.#keeping.delete(owned);
    });
  }

  /** Taken away before, where they start would be looked for again, and what was written meanwhile passed over. */
  async #untilKept(owned: readonly OwnedPartition[]): Promise<void> {
    const { runtime, rebalanceTimeoutMs } = this.limits;
    const kept = owned.flatMap((each) => this.#keeping.get(each) ?? []);
    if (kept.length === 0) return;
    const late = (): Error => new Error('Where partitions start was not stored in time.');
    const patienceMs = Math.min(rebalanceTimeoutMs * SHARE_FOR_STARTS, LONGEST_WAIT_FOR_STARTS_MS);
    await within(runtime, patienceMs, Promise.all(kept), late).catch(() => undefined);
  }

  #leave(partitions: readonly TopicPartition[]): readonly OwnedPartition[] {
    const owned = partitions.flatMap((each) => this.parts.ownership.get(each) ?? []);
    for (const each of owned) each.leave();
    return owned;
  }

  /** Those of which the listener has been told. */
  #known(owned: readonly OwnedPartition[]): TopicPartition[] {
    return owned
      .filter((each) => this.#announced.has(each))
      .map(({ topic, partition }) => ({ topic, partition }));
  }

  #isStaying(owned: OwnedPartition): boolean {
    return this.parts.ownership.get(owned) === owned && !owned.leaving.aborted;
  }

  /** The group has gone on by then: what it gives next is told, though nobody has dealt with the loss. */
  #forAWhile(told: Promise<void>): Promise<void> {
    const { runtime, rebalanceTimeoutMs } = this.limits;
    const late = (): Error => new Error('onLost does not end.');
    return within(runtime, rebalanceTimeoutMs, told, late).catch(() => undefined);
  }

  #tell(call: (listener: AssignmentListener) => void | Promise<void>): Promise<void> {
    const turn = this.#callbacks.then(async () => {
      try {
        if (this.#listener) await call(this.#listener);
      } catch (error) {
        this.parts.status.report(asError(error));
      }
    });
    this.#callbacks = turn;
    return turn;
  }
}

function assignedOf({ owned, committed }: Beginning): AssignedPartition {
  const { topic, partition, position } = owned;
  return { topic, partition, position, committed };
}

/** Where it starts, if that must not be looked for again: what is written meanwhile would be passed over. */
function startToKeep({ owned, start: { reset } }: Beginning): OffsetCommit | undefined {
  if (!reset || owned.commits > 0 || owned.position < 0) return undefined;
  if (reset.reason !== 'new-partition' && reset.policy !== 'latest') return undefined;
  const { topic, partition, position: offset } = owned;
  return { topic, partition, offset };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(`A listener threw ${String(error)}.`);
}
