import type { OffsetReset } from '../../../port/consumer.js';
import { silentLogger } from '../../../port/silent-logger.js';
import type { TopicPartition } from '../../../port/record.js';
import { VirtualRuntime } from '../../../runtime/index.js';
import { Metadata, type FetchedOffset } from '../../../wire/index.js';
import type { MetadataResponse } from '../../../wire/requests/metadata-request.js';
import { NewPartitionDetector } from './new-partition-detector.js';

const UNKNOWN_TOPIC = 3;

class DetectorTest {
  readonly runtime = new VirtualRuntime();
  /** The number of partitions of the topic; 0 if the topic does not exist. */
  count = 2;
  /** Partitions for which the group has a committed offset. */
  committed: readonly number[] = [];
  asked: readonly TopicPartition[] = [];
  answersGroup = true;
  answersTopics = true;
  readonly metadata = new Metadata(this.runtime, (topics) =>
    this.answersTopics ? Promise.resolve(this.#metadataOf(topics)) : new Promise(() => undefined),
  );
  readonly detector: NewPartitionDetector;

  constructor(policy: OffsetReset) {
    this.detector = new NewPartitionDetector({
      cluster: { metadata: this.metadata, runtime: this.runtime },
      topics: ['orders'],
      policy,
      logger: silentLogger,
      committed: (partitions, signal) => this.#committed(partitions, signal),
    });
  }

  isNew(partition: number): boolean {
    return this.detector.isNew({ topic: 'orders', partition });
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

describe('NewPartitionDetector', () => {
  it.each(['latest', 'none'] as const)(
    'treats a partition as new if it was created after the start of the session, with the policy %s',
    async (policy) => {
      const test = new DetectorTest(policy);
      await test.detector.recordExisting();
      test.count = 4;
      await test.metadata.refresh(['orders']);
      test.detector.recordTopicSizes();
      expect([0, 1, 2, 3].map((each) => test.isNew(each))).toEqual([false, false, true, true]);
    },
  );

  it('treats a partition with a higher number than all committed ones as new, with the policy latest', async () => {
    const test = new DetectorTest('latest');
    test.count = 4;
    test.committed = [0, 2];
    await test.detector.recordExisting();
    // Partition 1 existed when the offset of partition 2 was committed, so partition 1 is not new.
    expect([1, 3].map((each) => test.isNew(each))).toEqual([false, true]);
  });

  it('treats no partition as new if the group has no committed offset', async () => {
    const test = new DetectorTest('latest');
    await test.detector.recordExisting();
    expect([0, 1].map((each) => test.isNew(each))).toEqual([false, false]);
  });

  it('treats no partition as new with the policy none, even if partitions were added while the group had no members', async () => {
    const test = new DetectorTest('none');
    test.committed = [0];
    await test.detector.recordExisting();
    expect([test.isNew(1), test.asked]).toEqual([false, []]);
  });

  it('looks up nothing with the policy earliest', async () => {
    const test = new DetectorTest('earliest');
    await test.detector.recordExisting();
    expect(test.metadata.topic('orders')).toBeUndefined();
  });
});

describe('NewPartitionDetector with a missing topic', () => {
  it('treats all partitions of a topic as new if the topic was missing in two lookups', async () => {
    const test = new DetectorTest('latest');
    test.count = 0;
    await test.detector.recordExisting();
    await test.runtime.advance(1_000);
    test.count = 1;
    await test.metadata.refresh(['orders']);
    test.detector.recordTopicSizes();
    expect(test.isNew(0)).toBe(true);
  });

  it('does not treat a topic as missing after one lookup, because the broker may not know it yet', async () => {
    const test = new DetectorTest('latest');
    test.count = 0;
    await test.detector.recordExisting();
    test.count = 1;
    await test.runtime.advance(1_000);
    expect(test.isNew(0)).toBe(false);
  });
});

describe('NewPartitionDetector whose lookup gets no response', () => {
  it('gives up after its own timeout if the coordinator does not respond, and lets the join go on', async () => {
    const test = new DetectorTest('latest');
    test.answersGroup = false;
    const recorded = test.detector.recordExisting();
    await test.runtime.advance(5_000);
    await recorded;
    expect(test.isNew(0)).toBe(false);
    expect(test.runtime.pendingTimers).toBe(0);
  });

  it('gives up after its own timeout if the cluster cannot be reached, and lets the join go on', async () => {
    const test = new DetectorTest('none');
    test.answersTopics = false;
    const recorded = test.detector.recordExisting();
    await test.runtime.advance(5_000);
    await recorded;
    expect(test.isNew(0)).toBe(false);
  });
});
