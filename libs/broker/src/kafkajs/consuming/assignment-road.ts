import type {
  AssignmentListener,
  AssignedPartition,
  CommittedOffset,
  PositionReset,
} from '../../port/consumer.js';
import type { DriverLogger } from '../../port/driver.js';
import type { PartitionError } from '../../port/errors.js';
import type { TopicPartition } from '../../port/record.js';
import { Backoff, sleep } from '../../runtime/index.js';
import type { FetchedOffset, Cluster } from '../wire/index.js';
import { forMany } from './for-many.js';
import type { OwnedPartition } from './owned-partition.js';
import type { Ownership } from './ownership.js';
import type { Start, StartPositions } from './start-positions.js';
import type { StatusBoard } from './status-board.js';

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
  ): Promise<readonly FetchedOffset[]>;
  listener(): AssignmentListener | undefined;
  /** Some partitions may be read now. */
  onReady(): void;
}

interface Arrival {
  readonly partition: OwnedPartition;
  readonly committed: CommittedOffset | null;
  reset?: PositionReset;
}

/** A partition whose leader cannot be asked for so long no longer keeps the others waiting. */
const START_PATIENCE_MS = 5_000;
const BACKOFF = { initialMs: 100, maxMs: 5_000 };

/**
 * What happens to a partition between the group's word and the first record, and back:
 * committed offset -> start position -> `onAssigned` -> deliverable -> `onRevoked` or `onLost`.
 */
export class AssignmentRoad {
  readonly #options: AssignmentRoadOptions;
  readonly #announced = new WeakSet<OwnedPartition>();
  #abort = new AbortController();

  constructor(options: AssignmentRoadOptions) {
    this.#options = options;
  }

  /** `ending` aborts when the group takes them back before all this is done. */
  async assigned(partitions: readonly TopicPartition[], ending: AbortSignal): Promise<void> {
    const { ownership, cluster } = this.#options;
    this.#abort = new AbortController();
    const signal = forMany(AbortSignal.any([forMany(this.#abort.signal), ending]));
    const owned = partitions.map((partition) =>
      ownership.add(partition, cluster.metadata.topic(partition.topic)?.id ?? null),
    );
    const offsets = owned.length > 0 ? await this.#options.committed(partitions, signal) : [];
    const arrivals: Arrival[] = owned.map((partition) => ({
      partition,
      committed: offsets.find((fetched) => isSame(fetched, partition))?.committed ?? null,
    }));
    const late = await this.#begin(arrivals, signal);
    await this.#announce(arrivals.filter((arrival) => !late.has(arrival)));
  }

  async revoked(partitions: readonly TopicPartition[]): Promise<void> {
    await this.#end(partitions, async (known, owned) => {
      if (known.length > 0) await this.#options.listener()?.onRevoked(known);
      for (const partition of owned) this.#remove(partition);
    });
  }

  async lost(partitions: readonly TopicPartition[]): Promise<void> {
    await this.#end(partitions, async (known, owned) => {
      for (const partition of owned) this.#remove(partition);
      if (known.length > 0) await this.#options.listener()?.onLost(known);
    });
  }

  /** The offset asked for is not in the log: the reset policy decides, in the background. */
  outOfRange(partition: OwnedPartition): void {
    const { journey } = partition;
    void this.#untilAnswered(partition, this.#abort.signal, (signal) =>
      this.#options.positions.outOfRange(partition, signal),
    ).then((start) => {
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

  /** No further callback. */
  end(): void {
    this.#abort.abort();
  }

  /** Finds where each starts; returns those that are not found yet and will be announced later. */
  async #begin(arrivals: readonly Arrival[], signal: AbortSignal): Promise<ReadonlySet<Arrival>> {
    const late = new Set(arrivals);
    let patient = true;
    const started = arrivals.map(async (arrival) => {
      const { partition, committed } = arrival;
      const { journey } = partition;
      const start = await this.#untilAnswered(partition, signal, (until) =>
        this.#options.positions.of(partition, committed, until),
      );
      if (!start || signal.aborted) return;
      // A seek that came during the look-up wins.
      if (partition.journey === journey) this.#go(arrival, start);
      late.delete(arrival);
      if (!patient) await this.#announce([arrival]);
    });
    const timer = sleep(this.#options.cluster.runtime, START_PATIENCE_MS, signal).catch(
      () => undefined,
    );
    await Promise.race([Promise.all(started), timer]);
    patient = false;
    return new Set(late);
  }

  async #untilAnswered(
    partition: OwnedPartition,
    signal: AbortSignal,
    ask: (signal: AbortSignal) => Promise<Start>,
  ): Promise<Start | undefined> {
    const { board, cluster } = this.#options;
    const backoff = new Backoff(cluster.runtime, BACKOFF);
    while (!signal.aborted) {
      try {
        const start = await ask(signal);
        board.recovered(partition);
        return start;
      } catch (error) {
        if (signal.aborted) return undefined;
        board.trouble(partition, error as Error);
        const rested = await sleep(cluster.runtime, backoff.next(), signal).then(
          () => true,
          () => false,
        );
        // Without a pause it would spin: the trouble stays on the board instead.
        if (!rested) return undefined;
      }
    }
    return undefined;
  }

  #go(arrival: Arrival, start: Start): void {
    const { partition } = arrival;
    if (start.kind === 'stopped') {
      partition.stop(start.error);
      if (this.#announced.has(partition)) this.stop(partition, start.error);
      return;
    }
    partition.moveTo(start.offset);
    if (!start.reset) return;
    if (this.#announced.has(partition)) this.#reportReset(start.reset);
    else arrival.reset = start.reset;
  }

  /** The listener hears of a partition before its first record, and of what happened to it on the way. */
  async #announce(arrivals: readonly Arrival[]): Promise<void> {
    const { ownership, listener, onReady } = this.#options;
    const present = arrivals.filter(({ partition }) => ownership.holds(partition));
    for (const { partition } of present) this.#announced.add(partition);
    try {
      await listener()?.onAssigned(present.map(assignedOf));
    } finally {
      for (const { partition, reset } of present) {
        if (!ownership.holds(partition)) continue;
        partition.deliverable = true;
        if (reset) this.#reportReset(reset);
        if (partition.stopped) this.stop(partition, partition.stopped);
      }
      onReady();
    }
  }

  async #end(
    partitions: readonly TopicPartition[],
    tell: (known: TopicPartition[], owned: OwnedPartition[]) => Promise<void>,
  ): Promise<void> {
    this.#abort.abort();
    const { ownership, logger, groupId } = this.#options;
    const owned = partitions.flatMap((partition) => ownership.get(partition) ?? []);
    for (const partition of owned) partition.deliverable = false;
    const known = owned
      .filter((partition) => this.#announced.has(partition))
      .map(({ topic, partition }) => ({ topic, partition }));
    logger.info('Partitions are handed back', { groupId, partitions: known });
    try {
      await tell(known, owned);
    } finally {
      for (const partition of owned) this.#remove(partition);
    }
  }

  #remove(partition: OwnedPartition): void {
    this.#options.ownership.remove(partition);
    this.#options.board.recovered(partition);
  }

  #reportReset(reset: PositionReset): void {
    const { logger, listener, groupId } = this.#options;
    const level = reset.from === null ? 'info' : 'warn';
    logger[level]('Reading starts by the reset policy', { groupId, ...reset });
    this.#tell(() => listener()?.onReset?.(reset));
  }

  /** A listener that throws here has no protocol step to fail; it is reported and that is all. */
  #tell(call: () => void | Promise<void> | undefined): void {
    void (async () => call())().catch((error: unknown) => {
      this.#options.board.mention(error as Error);
    });
  }
}

function isSame(left: TopicPartition, right: TopicPartition): boolean {
  return left.partition === right.partition && left.topic === right.topic;
}

function assignedOf({ partition: owned, committed }: Arrival): AssignedPartition {
  return {
    topic: owned.topic,
    partition: owned.partition,
    position: owned.position,
    committed,
  };
}
