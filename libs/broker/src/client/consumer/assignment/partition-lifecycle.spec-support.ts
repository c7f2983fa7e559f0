import type { OffsetCommit, PositionReset } from '../../../port/consumer.js';
import { silentLogger } from '../../../port/silent-logger.js';
import type { TopicPartition } from '../../../port/record.js';
import { VirtualRuntime } from '../../../runtime/index.js';
import type { Cluster } from '../../../wire/index.js';
import { PartitionLifecycle } from './partition-lifecycle.js';
import { OwnedPartitions } from './owned-partitions.js';
import type { ResetPositions, StartPosition } from './reset-positions.js';
import type { StartPositions } from './start-positions.js';
import { ConsumerStatus } from '../consumer-status.js';

export const [zero, one] = [0, 1].map((partition) => ({ topic: 'orders', partition })) as [
  TopicPartition,
  TopicPartition,
];

export class LifecycleTest {
  readonly runtime = new VirtualRuntime();
  readonly status = new ConsumerStatus(this.runtime, silentLogger);
  readonly ownedPartitions = new OwnedPartitions();
  /** The calls of the listener, with the partition numbers. */
  readonly calls: string[] = [];
  lookups = 0;
  readonly committedStarts: OffsetCommit[] = [];
  /** Resolves when the start offsets are committed. */
  whenCommitted: Promise<void> = Promise.resolve();
  /** The reset that led to the start offset; undefined for a committed offset. */
  reset: Pick<PositionReset, 'policy' | 'reason'> | undefined;
  /** Returns the start offset of a partition; throws while its leader cannot be reached. */
  startOf: (partition: number) => number | Promise<number> = () => 5;
  committed: (signal: AbortSignal, onError: (error: Error) => void) => Promise<[]> = () =>
    Promise.resolve([]);
  /** Promises for which the listener waits, by the name of the callback. */
  readonly gates: Partial<Record<string, Promise<void>>> = {};
  readonly lifecycle: PartitionLifecycle;

  constructor(rebalanceTimeoutMs = 30_000) {
    this.lifecycle = new PartitionLifecycle({
      cluster: {
        runtime: this.runtime,
        metadata: { topic: () => undefined },
      } as unknown as Cluster,
      ownedPartitions: this.ownedPartitions,
      positions: {
        resolve: async ({ topic, partition }: TopicPartition): Promise<StartPosition> => {
          this.lookups++;
          const offset = await this.startOf(partition);
          const reset = this.reset && { topic, partition, from: null, to: offset, ...this.reset };
          return { kind: 'at', offset, leaderEpoch: 7, ...(reset && { reset }) };
        },
      } as unknown as StartPositions,
      resets: {} as unknown as ResetPositions,
      status: this.status,
      logger: silentLogger,
      groupId: 'group',
      fetchCommitted: (_, signal, onError) => this.committed(signal, onError),
      listener: () => ({
        onAssigned: (partitions) => this.#callListener('assigned', partitions),
        onRevoked: (partitions) => this.#callListener('revoked', partitions),
        onLost: (partitions) => this.#callListener('lost', partitions),
      }),
      commitStarts: async (starts) => {
        this.committedStarts.push(...starts);
        await this.whenCommitted;
      },
      rebalanceTimeoutMs,
      onReady: () => undefined,
    });
    this.status.setMembership({ state: 'stable', since: 0, generation: 1 });
  }

  isDelivered(partition: TopicPartition): boolean {
    return this.ownedPartitions.get(partition)?.deliverable === true;
  }

  async #callListener(what: string, partitions: readonly TopicPartition[]): Promise<void> {
    const line = [what, ...partitions.map(({ partition }) => partition)].join(' ');
    this.calls.push(line);
    await this.gates[line];
    this.calls.push(`${line} done`);
  }
}
