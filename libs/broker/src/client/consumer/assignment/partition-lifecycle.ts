import type { AssignmentListener, OffsetCommit, PositionReset } from '../../../port/consumer.js';
import type { DriverLogger } from '../../../port/driver.js';
import type { PartitionError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { isSame } from '../../../port/same-partition.js';
import { sleep, within } from '../../../runtime/index.js';
import type { Cluster, FetchedOffset } from '../../../wire/index.js';
import { assignedOf, startToKeep, type Arrival } from '../fetching/arrival.js';
import { forMany } from './without-listener-limit.js';
import type { OwnedPartition } from '../fetching/owned-partition.js';
import type { Ownership } from './ownership.js';
import type { Divergence, Start, StartPositions } from './start-positions.js';
import type { StatusBoard } from '../consumer-status.js';
import { untilAnswered } from '../fetching/until-answered.js';
import { whenAllLeave } from '../when-all-leave.js';

export interface AssignmentRoadOptions {
  readonly cluster: Cluster;
  readonly ownership: Ownership;
  readonly positions: StartPositions;
  readonly board: StatusBoard;
  readonly logger: DriverLogger;
  readonly groupId: string;
  committed(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
    onTrouble: (error: Error) => void,
  ): Promise<readonly FetchedOffset[]>;
  readonly rebalanceTimeoutMs: number;
  /** Commits where partitions start; never rejects. */
  keep(starts: readonly OffsetCommit[]): Promise<void>;
  listener(): AssignmentListener | undefined;
  /** Some partitions may be read now. */
  onReady(): void;
}

/** A partition whose leader cannot be asked for so long no longer keeps the others waiting. */
const START_PATIENCE_MS = 5_000;

/** For longer a start that is not stored yet does not hold up a hand-back, nor the end of the session. */
const LONGEST_WAIT_FOR_STARTS_MS = 5_000;
/** Of the rebalance time-out, where that is less. */
const SHARE_FOR_STARTS = 0.5;

/**
 * What happens to a partition between the group's word and the first record, and back:
 * committed offset -> start position -> `onAssigned` -> deliverable -> `onRevoked` or `onLost`.
 *
 * Each goes its own way: some may leave while others, or the same ones, are still on their way in.
 * The listener is called once at a time, except with `onLost`, which waits for nobody.
 */
export class AssignmentRoad {
  readonly #options: AssignmentRoadOptions;
  readonly #announced = new WeakSet<OwnedPartition>();
  /** Whose start is being committed. */
  readonly #keeping = new Map<OwnedPartition, Promise<void>>();
  #calls: Promise<unknown> = Promise.resolve();

  constructor(options: AssignmentRoadOptions) {
    this.#options = options;
  }

  async assigned(partitions: readonly TopicPartition[]): Promise<void> {
    const { ownership, cluster } = this.#options;
    const owned = partitions.map((partition) =>
      ownership.add(partition, cluster.metadata.topic(partition.topic)?.id ?? null),
    );
    const signal = forMany(whenAllLeave(owned));
    let offsets: readonly FetchedOffset[];
    try {
      offsets = await this.#committed(owned, signal);
    } catch (error) {
      void this.#arriveLater(owned, signal);
      throw error;
    }
    await this.#arrive(owned, offsets, signal);
  }

  async revoked(partitions: readonly TopicPartition[]): Promise<void> {
    const owned = this.#leaving(partitions);
    await this.#inTurn(async () => {
      const known = this.#known(owned);
      const kept = this.#untilKept(owned);
      try {
        if (known.length > 0) await this.#options.listener()?.onRevoked(known);
      } finally {
        await kept;
        for (const partition of owned) this.#remove(partition);
      }
    });
  }

  async lost(partitions: readonly TopicPartition[]): Promise<void> {
    const owned = this.#leaving(partitions);
    const known = this.#known(owned);
    for (const partition of owned) this.#remove(partition);
    // Whatever the listener is still at has been given up.
    this.#calls = Promise.resolve();
    if (known.length === 0) return;
    const told = this.#inTurn(() => this.#options.listener()?.onLost(known));
    this.#calls = this.#forAWhile(told);
    await told;
  }

  /** The offset asked for is not in the log: the reset policy decides, in the background. */
  outOfRange(partition: OwnedPartition): void {
    this.#startAnew(partition, (signal) => this.#options.positions.outOfRange(partition, signal));
  }

  /** What was read is not in the log any more: nothing is read on as if it were. */
  truncated(partition: OwnedPartition, divergence: Divergence | undefined): void {
    this.#startAnew(partition, (signal) =>
      this.#options.positions.truncated(partition, divergence, signal),
    );
  }

  #startAnew(partition: OwnedPartition, ask: (signal: AbortSignal) => Promise<Start>): void {
    const { journey, leaving } = partition;
    void this.#untilAnswered(partition, leaving, ask).then((start) => {
      if (!start) return;
      // Moved meanwhile: the answer is to an older question, and the partition is asked for anew.
      if (partition.journey === journey) this.#go({ partition, committed: null }, start);
      else partition.restUntil = 0;
      this.#options.onReady();
    });
  }

  stop(partition: OwnedPartition, error: PartitionError): void {
    partition.stop(error);
    this.#options.board.recovered(partition);
    this.#options.logger.error(error.message, { code: error.code, groupId: this.#options.groupId });
    this.#tell(() => this.#options.listener()?.onStopped?.(error));
  }

  /** Where they start is refused to us: membership goes on, and they follow once it is told. */
  async #arriveLater(owned: readonly OwnedPartition[], signal: AbortSignal): Promise<void> {
    const { board, cluster } = this.#options;
    const question = { runtime: cluster.runtime, board, source: owned, signal };
    const offsets = await untilAnswered(question, () => this.#committed(owned, signal));
    if (offsets)
      await this.#arrive(owned, offsets, signal).catch((error: Error) => board.mention(error));
    if (signal.aborted) board.recovered(owned);
  }

  async #arrive(
    owned: readonly OwnedPartition[],
    offsets: readonly FetchedOffset[],
    signal: AbortSignal,
  ): Promise<void> {
    const arrivals = owned.map((partition): Arrival => {
      const committed = offsets.find((fetched) => isSame(fetched, partition))?.committed ?? null;
      return { partition, committed };
    });
    const late = await this.#begin(arrivals, signal);
    // All have left before it was known where they start.
    if (signal.aborted) return;
    await this.#announce(arrivals.filter((arrival) => !late.has(arrival)));
  }

  async #committed(
    owned: readonly OwnedPartition[],
    signal: AbortSignal,
  ): Promise<readonly FetchedOffset[]> {
    if (owned.length === 0) return [];
    const { board, committed } = this.#options;
    const search = {};
    try {
      return await committed(owned, signal, (error) => board.hindered(search, error));
    } catch (error) {
      // All have left before it was known: nobody's trouble.
      if (signal.aborted) return [];
      throw error;
    } finally {
      board.recovered(search);
    }
  }

  /** Finds where each starts; returns those that are not found yet and will be announced later. */
  async #begin(arrivals: readonly Arrival[], signal: AbortSignal): Promise<ReadonlySet<Arrival>> {
    const { board } = this.#options;
    const late = new Set(arrivals);
    let patient = true;
    const started = arrivals.map(async (arrival) => {
      const { partition, committed } = arrival;
      const { journey, leaving } = partition;
      const start = await this.#untilAnswered(partition, leaving, (until) =>
        this.#options.positions.of(partition, committed, until),
      );
      if (!start || leaving.aborted) return;
      // A seek that came during the look-up wins.
      if (partition.journey === journey) this.#go(arrival, start);
      late.delete(arrival);
      // Nobody waits for it any more: what the listener throws has no protocol step to fail.
      if (!patient) await this.#announce([arrival]).catch((error: Error) => board.mention(error));
    });
    // A timer that nobody waits for any more would keep the process alive.
    const over = new AbortController();
    const until = AbortSignal.any([signal, over.signal]);
    const timer = sleep(this.#options.cluster.runtime, START_PATIENCE_MS, until).catch(
      () => undefined,
    );
    await Promise.race([Promise.all(started), timer]);
    over.abort();
    patient = false;
    return new Set(late);
  }

  #untilAnswered(
    partition: OwnedPartition,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<Start>,
  ): Promise<Start | undefined> {
    const { board, cluster } = this.#options;
    return untilAnswered({ runtime: cluster.runtime, board, source: partition, signal }, ask);
  }

  #go(arrival: Arrival, start: Start): void {
    const { partition } = arrival;
    if (start.kind === 'stopped') {
      partition.stop(start.error);
      if (this.#announced.has(partition)) this.stop(partition, start.error);
      return;
    }
    partition.moveTo(start.offset, start.leaderEpoch);
    if (!start.reset) return;
    if (this.#announced.has(partition)) this.#reportReset(start.reset);
    else arrival.reset = start.reset;
  }

  /** The listener hears of a partition before its first record, and of what happened to it on the way. */
  #announce(arrivals: readonly Arrival[]): Promise<void> {
    const { listener, onReady } = this.#options;
    return this.#inTurn(async () => {
      const present = arrivals.filter(({ partition }) => !partition.leaving.aborted);
      if (arrivals.length > 0 && present.length === 0) return;
      for (const { partition } of present) this.#announced.add(partition);
      try {
        await listener()?.onAssigned(present.map(assignedOf));
      } finally {
        this.#keep(present);
        for (const { partition, reset } of present) {
          if (partition.leaving.aborted) continue;
          this.#deliver(partition);
          if (reset) this.#reportReset(reset);
          if (partition.stopped) this.stop(partition, partition.stopped);
        }
        onReady();
      }
    });
  }

  /** What is handed out before its start is stored may be committed sooner, and taken back by that. */
  #deliver(partition: OwnedPartition): void {
    const kept = this.#keeping.get(partition);
    if (!kept) return void (partition.deliverable = true);
    void kept.then(() => {
      if (partition.leaving.aborted) return;
      partition.deliverable = true;
      this.#options.onReady();
    });
  }

  /** Also of those that are on their way out again: whoever is next would look for a start anew. */
  #keep(arrivals: readonly Arrival[]): void {
    const { ownership, keep } = this.#options;
    const beginning = arrivals.flatMap((arrival) => {
      const start = ownership.holds(arrival.partition) && startToKeep(arrival);
      return start ? [{ partition: arrival.partition, start }] : [];
    });
    if (beginning.length === 0) return;
    const kept = keep(beginning.map(({ start }) => start));
    for (const { partition } of beginning) this.#keeping.set(partition, kept);
    void kept.then(() => {
      for (const { partition } of beginning) this.#keeping.delete(partition);
    });
  }

  /** Taken away before, where they start would be looked for again, and what was written meanwhile passed over. */
  async #untilKept(owned: readonly OwnedPartition[]): Promise<void> {
    const { cluster, rebalanceTimeoutMs } = this.#options;
    const kept = owned.flatMap((partition) => this.#keeping.get(partition) ?? []);
    if (kept.length === 0) return;
    const tooLate = () => new Error('Where partitions start was not stored in time.');
    const patienceMs = Math.min(rebalanceTimeoutMs * SHARE_FOR_STARTS, LONGEST_WAIT_FOR_STARTS_MS);
    await within(cluster.runtime, patienceMs, Promise.all(kept), tooLate).catch(() => undefined);
  }

  /** Nothing of them is handed out any more. */
  #leaving(partitions: readonly TopicPartition[]): OwnedPartition[] {
    const { ownership, logger, groupId } = this.#options;
    const owned = partitions.flatMap((partition) => ownership.get(partition) ?? []);
    for (const partition of owned) partition.leave();
    logger.info('Partitions are handed back', { groupId, partitions: owned.map(nameOf) });
    return owned;
  }

  /** Those of which the listener has been told. */
  #known(owned: readonly OwnedPartition[]): TopicPartition[] {
    return owned.filter((partition) => this.#announced.has(partition)).map(nameOf);
  }

  #remove(partition: OwnedPartition): void {
    this.#options.ownership.remove(partition);
    this.#options.board.recovered(partition);
  }

  #reportReset(reset: PositionReset): void {
    const { logger, listener, groupId } = this.#options;
    if (reset.reason === 'log-truncated')
      logger.error('The log was cut back behind what was read (an unclean leader election)', {
        code: 'LOG_TRUNCATED',
        groupId,
        ...reset,
      });
    else
      logger[reset.from === null ? 'info' : 'warn']('Reading starts by the reset policy', {
        groupId,
        ...reset,
      });
    this.#tell(() => listener()?.onReset?.(reset));
  }

  /** A listener that throws here has no protocol step to fail; it is reported and that is all. */
  #tell(call: () => void | Promise<void> | undefined): void {
    void (async () => call())().catch((error: unknown) => {
      this.#options.board.mention(error as Error);
    });
  }

  /** The group has gone on by then: what it gives next is told, though nobody has dealt with the loss. */
  #forAWhile(told: Promise<void>): Promise<void> {
    const { cluster, rebalanceTimeoutMs } = this.#options;
    const tooLate = () => new Error('onLost does not end.');
    return within(cluster.runtime, rebalanceTimeoutMs, told, tooLate).catch(() => undefined);
  }

  /** After what the listener was called for before. */
  #inTurn(call: () => void | Promise<void> | undefined): Promise<void> {
    const turn = this.#calls.then(call);
    this.#calls = turn.catch(() => undefined);
    return turn;
  }
}

function nameOf({ topic, partition }: TopicPartition): TopicPartition {
  return { topic, partition };
}
