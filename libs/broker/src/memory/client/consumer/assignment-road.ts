import type {
  AssignedPartition,
  AssignmentListener,
  CommittedOffset,
} from '../../../port/consumer.js';
import type { PartitionError } from '../../../port/errors.js';
import type { TopicPartition } from '../../../port/record.js';
import { OwnedPartition } from './owned-partition.js';
import type { SessionParts } from './session-parts.js';
import type { Start, StartPositions } from './start-positions.js';
import type { TopicWatch } from './topic-watch.js';

interface Prepared {
  readonly owned: OwnedPartition;
  readonly assigned: AssignedPartition;
  readonly start: Start;
}

/**
 * Leads partitions in and out, and tells the listener. Its callbacks are called one after the
 * other; one that throws is reported and stops nothing.
 */
export class AssignmentRoad {
  #listener: AssignmentListener | undefined;
  #planned: readonly TopicPartition[] = [];
  #prepared: readonly Prepared[] = [];
  readonly #lost: TopicPartition[] = [];
  #callbacks: Promise<void> = Promise.resolve();

  constructor(
    private readonly parts: SessionParts,
    private readonly starts: StartPositions,
    private readonly topics: TopicWatch,
  ) {}

  listen(listener: AssignmentListener): void {
    this.#listener = listener;
  }

  planned(partitions: readonly TopicPartition[]): void {
    this.#planned = partitions;
  }

  /** Finds out where reading starts. Throws what may be repeated. */
  async prepare(signal: AbortSignal): Promise<void> {
    const ids = await this.topics.refresh(signal);
    const committed = await this.starts.committed(this.#planned, signal);
    this.#prepared = await Promise.all(
      this.#planned.map(async (partition, index) => {
        const known = committed[index] ?? null;
        const start = await this.starts.of(partition, known, signal);
        return prepared(partition, ids.get(partition.topic) ?? '', known, start);
      }),
    );
  }

  /** They are ours from here on; their records come once the listener has been told. */
  async assign(isOver: () => boolean): Promise<void> {
    const { ownership, bell } = this.parts;
    const ready = this.#prepared;
    this.#prepared = [];
    ownership.take(ready.map(({ owned }) => owned));
    await this.#tell((listener) => listener.onAssigned(ready.map(({ assigned }) => assigned)));
    for (const { owned, start } of ready) await this.#tellStart(owned, start);
    if (isOver()) return;
    ownership.isServing = true;
    bell.ring();
  }

  /** They are still ours while the listener is told; nothing is handed out any more. */
  async revoke(): Promise<void> {
    const { ownership } = this.parts;
    ownership.isServing = false;
    const revoked = ownership.list();
    if (revoked.length > 0) await this.#tell((listener) => listener.onRevoked(revoked));
  }

  release(): void {
    this.parts.ownership.release();
  }

  /** They are somebody else's: from this moment on commits are fenced. */
  forfeit(): void {
    this.#lost.push(...this.parts.ownership.release());
  }

  /** Tells of what was forfeited. */
  async tellLoss(): Promise<void> {
    const lost = this.#lost.splice(0);
    if (lost.length > 0) await this.#tell((listener) => listener.onLost(lost));
  }

  async stop(owned: OwnedPartition, error: PartitionError): Promise<void> {
    owned.stop(error);
    await this.#tell((listener) => listener.onStopped?.(error));
  }

  /** After the policy was asked where to go on. */
  async restart(owned: OwnedPartition, from: number, start: Start): Promise<void> {
    const { ownership, bell } = this.parts;
    if (ownership.get(owned) !== owned || owned.position !== from) return;
    if (start.stopped) return this.stop(owned, start.stopped);
    owned.moveTo(start.position);
    await this.#tellStart(owned, start);
    bell.ring();
  }

  async #tellStart(owned: OwnedPartition, { position, reset, stopped }: Start): Promise<void> {
    if (this.parts.ownership.get(owned) !== owned || owned.position !== position) return;
    if (stopped) await this.stop(owned, stopped);
    if (reset) await this.#tell((listener) => listener.onReset?.(reset));
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

function prepared(
  { topic, partition }: TopicPartition,
  topicId: string,
  committed: CommittedOffset | null,
  start: Start,
): Prepared {
  const { position } = start;
  return {
    owned: new OwnedPartition(
      { topic, partition },
      topicId,
      position,
      committed?.leaderEpoch ?? -1,
    ),
    assigned: { topic, partition, position, committed },
    start,
  };
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(`A listener threw ${String(error)}.`);
}
