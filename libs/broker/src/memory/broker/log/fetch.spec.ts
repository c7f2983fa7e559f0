import { batchOf } from './batch-of.spec-support.js';
import { createTestCluster, observe } from '../test-cluster.spec-support.js';
import { fetchRecords, type FetchedPartition, type FetchRequest } from './fetch.js';

function setUp(partitions = 1) {
  const { runtime, cluster } = createTestCluster();
  const topic = cluster.topics.create({ name: 't', partitions });
  const abort = new AbortController();
  const fetch = (
    offsets: Record<number, number>,
    more: Partial<FetchRequest> = {},
  ): Promise<readonly FetchedPartition[]> =>
    fetchRecords(
      cluster,
      {
        partitions: Object.entries(offsets).map(([partition, offset]) => ({
          topic: 't',
          topicId: topic.id,
          partition: Number(partition),
          offset,
          lastEpoch: -1,
          maxBytes: 1_000_000,
        })),
        maxWaitMs: 500,
        minBytes: 1,
        maxBytes: 1_000_000,
        isolation: 'read_committed',
        ...more,
      },
      () => undefined,
      abort.signal,
    );
  const append = (partition: number, ...values: string[]) =>
    cluster.topics
      .partitionAtLeader({ topic: 't', partition })
      .append(batchOf(values, { timestamp: runtime.now() }));
  return { runtime, cluster, topic, fetch, append, abort };
}

const counts = (answer: readonly FetchedPartition[] | undefined) =>
  answer?.map((each) => (each.kind === 'read' ? each.batches.length : each.kind));
const reasons = (answer: readonly FetchedPartition[] | undefined) =>
  answer?.map((each) => (each.kind === 'refused' ? each.refusal.reason : each.kind));

describe('fetchRecords', () => {
  it('answers at once if there are records', async () => {
    const { fetch, append } = setUp();
    append(0, 'a', 'b');
    expect(counts(await fetch({ 0: 1 }))).toEqual([1]);
  });

  it('waits for new records', async () => {
    const { runtime, fetch, append } = setUp();
    const waiting = observe(fetch({ 0: 0 }));
    await runtime.advance(499);
    expect(waiting.ended).toBe(false);
    append(0, 'a');
    await runtime.settle();
    expect(counts(waiting.result)).toEqual([1]);
  });

  it('answers without records after the maximum wait', async () => {
    const { runtime, fetch } = setUp();
    const waiting = observe(fetch({ 0: 0 }));
    await runtime.advance(500);
    expect(counts(waiting.result)).toEqual([0]);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('waits until the minimum number of bytes is available', async () => {
    const { runtime, fetch, append } = setUp();
    const waiting = observe(fetch({ 0: 0 }, { minBytes: 150 }));
    append(0, 'a');
    await runtime.settle();
    expect(waiting.ended).toBe(false);
    append(0, 'x'.repeat(100));
    await runtime.settle();
    expect(counts(waiting.result)).toEqual([2]);
  });

  it('refuses an offset outside of the log at once, on either side', async () => {
    const { fetch, append, cluster } = setUp();
    append(0, 'a', 'b', 'c');
    cluster.topics.partitionAtLeader({ topic: 't', partition: 0 }).log.deleteBefore(2);
    expect(reasons(await fetch({ 0: 1 }))).toEqual(['OFFSET_OUT_OF_RANGE']);
    expect(reasons(await fetch({ 0: 4 }))).toEqual(['OFFSET_OUT_OF_RANGE']);
  });

  it('reports an unknown partition only after the maximum wait', async () => {
    const { runtime, fetch } = setUp();
    const waiting = observe(fetch({ 0: 0, 9: 0 }));
    await runtime.advance(499);
    expect(waiting.ended).toBe(false);
    await runtime.advance(1);
    expect(reasons(waiting.result)).toEqual(['read', 'UNKNOWN_TOPIC_OR_PARTITION']);
  });

  it('answers at once when the topic is deleted', async () => {
    const { runtime, fetch, cluster } = setUp();
    const waiting = observe(fetch({ 0: 0 }));
    await runtime.settle();
    cluster.topics.delete('t');
    await runtime.settle();
    expect(reasons(waiting.result)).toEqual(['UNKNOWN_TOPIC_OR_PARTITION']);
  });

  it('distinguishes a recreated topic by its id', async () => {
    const { fetch, cluster } = setUp();
    cluster.topics.delete('t');
    cluster.topics.create({ name: 't' });
    expect(reasons(await fetch({ 0: 0 }))).toEqual(['UNKNOWN_TOPIC_ID']);
  });

  it('returns the first batch beyond every limit, and nothing after it', async () => {
    const { fetch, append } = setUp(2);
    append(0, 'x'.repeat(1_000));
    append(1, 'y');
    expect(counts(await fetch({ 0: 0, 1: 0 }, { maxBytes: 10 }))).toEqual([1, 0]);
    expect(counts(await fetch({ 0: 0, 1: 0 }, { maxBytes: 5_000 }))).toEqual([1, 1]);
  });

  it('ends the wait when the signal aborts', async () => {
    const { runtime, fetch, abort } = setUp();
    const waiting = observe(fetch({ 0: 0 }));
    await runtime.settle();
    abort.abort();
    await runtime.settle();
    expect(counts(waiting.result)).toEqual([0]);
  });

  it('removes its watchers', async () => {
    const { runtime, fetch, append } = setUp();
    const waiting = observe(fetch({ 0: 0 }));
    await runtime.advance(500);
    expect(waiting.ended).toBe(true);
    append(0, 'a');
    expect(runtime.pendingTimers).toBe(0);
  });
});
