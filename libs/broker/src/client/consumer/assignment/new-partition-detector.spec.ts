import type { OffsetReset } from '../../../port/consumer.js';
import { silentLogger } from '../../../port/silent-logger.js';
import type { TopicPartition } from '../../../port/record.js';
import { VirtualRuntime } from '../../../runtime/index.js';
import { Metadata, type FetchedOffset } from '../../../wire/index.js';
import type { MetadataResponse } from '../../../wire/requests/metadata-request.js';
import { NewPartitionDetector } from './new-partition-detector.js';

const UNKNOWN_TOPIC = 3;

class Scene {
  readonly runtime = new VirtualRuntime();
  /** How many partitions the topic has; 0 where there is none. */
  count = 2;
  /** Of which partitions the group has an offset. */
  committed: readonly number[] = [];
  asked: readonly TopicPartition[] = [];
  answersGroup = true;
  answersTopics = true;
  readonly metadata = new Metadata(this.runtime, (topics) =>
    this.answersTopics ? Promise.resolve(this.#metadataOf(topics)) : new Promise(() => undefined),
  );
  readonly growth: NewPartitionDetector;

  constructor(policy: OffsetReset) {
    this.growth = new NewPartitionDetector({
      cluster: { metadata: this.metadata, runtime: this.runtime },
      topics: ['orders'],
      policy,
      logger: silentLogger,
      committed: (partitions, signal) => this.#committed(partitions, signal),
    });
  }

  isNew(partition: number): boolean {
    return this.growth.isNew({ topic: 'orders', partition });
  }

  #metadataOf(topics: readonly string[]): MetadataResponse {
    const partition = { code: 0, leader: 1, leaderEpoch: 0, replicas: [], inSync: [] };
    return {
      brokers: [],
      clusterId: null,
      controllerId: 1,
      topics: topics.map((name) => ({
        code: this.count === 0 ? UNKNOWN_TOPIC : 0,
        name,
        id: null,
        internal: false,
        partitions: Array.from({ length: this.count }, (_, index) => ({
          ...partition,
          partition: index,
        })),
      })),
    };
  }

  #committed(
    partitions: readonly TopicPartition[],
    signal: AbortSignal,
  ): Promise<readonly FetchedOffset[]> {
    this.asked = partitions;
    if (!this.answersGroup)
      return new Promise((_, reject) =>
        signal.addEventListener('abort', () => reject(signal.reason as Error)),
      );
    const at = { offset: 1, leaderEpoch: 0, metadata: null };
    return Promise.resolve(
      partitions.map((each) => ({
        ...each,
        code: 0,
        committed: this.committed.includes(each.partition) ? at : null,
      })),
    );
  }
}

describe('a partition', () => {
  it.each(['latest', 'none'] as const)(
    'is new that was not there when we began: %s',
    async (policy) => {
      const scene = new Scene(policy);
      await scene.growth.recordExisting();
      scene.count = 4;
      await scene.metadata.refresh(['orders']);
      scene.growth.recordTopicSizes();
      expect([0, 1, 2, 3].map((each) => scene.isNew(each))).toEqual([false, false, true, true]);
    },
  );

  it('is new that lies above all that the group had read before us, if the policy is latest', async () => {
    const scene = new Scene('latest');
    scene.count = 4;
    scene.committed = [0, 2];
    await scene.growth.recordExisting();
    // 1 was there when 2 was read: the group has chosen not to begin at its beginning.
    expect([1, 3].map((each) => scene.isNew(each))).toEqual([false, true]);
  });

  it('is not new to a group that has nothing yet', async () => {
    const scene = new Scene('latest');
    await scene.growth.recordExisting();
    expect([0, 1].map((each) => scene.isNew(each))).toEqual([false, false]);
  });

  it('is for the operator to decide where the policy is none and the group has been away', async () => {
    const scene = new Scene('none');
    scene.committed = [0];
    await scene.growth.recordExisting();
    expect([scene.isNew(1), scene.asked]).toEqual([false, []]);
  });

  it('is nothing to look up where reading begins at the beginning anyway', async () => {
    const scene = new Scene('earliest');
    await scene.growth.recordExisting();
    expect(scene.metadata.topic('orders')).toBeUndefined();
  });
});

describe('a topic', () => {
  it('that is missing twice has no partitions yet: all that it gets are new', async () => {
    const scene = new Scene('latest');
    scene.count = 0;
    await scene.growth.recordExisting();
    await scene.runtime.advance(1_000);
    scene.count = 1;
    await scene.metadata.refresh(['orders']);
    scene.growth.recordTopicSizes();
    expect(scene.isNew(0)).toBe(true);
  });

  it('that a broker has just not heard of yet is not taken for missing', async () => {
    const scene = new Scene('latest');
    scene.count = 0;
    await scene.growth.recordExisting();
    scene.count = 1;
    await scene.runtime.advance(1_000);
    expect(scene.isNew(0)).toBe(false);
  });
});

describe('a group that does not answer', () => {
  it('keeps nobody from joining it for long', async () => {
    const scene = new Scene('latest');
    scene.answersGroup = false;
    const look = scene.growth.recordExisting();
    await scene.runtime.advance(5_000);
    await look;
    expect(scene.isNew(0)).toBe(false);
    expect(scene.runtime.pendingTimers).toBe(0);
  });

  it('nor does a cluster that is not there', async () => {
    const scene = new Scene('none');
    scene.answersTopics = false;
    const look = scene.growth.recordExisting();
    await scene.runtime.advance(5_000);
    await look;
    expect(scene.isNew(0)).toBe(false);
  });
});
