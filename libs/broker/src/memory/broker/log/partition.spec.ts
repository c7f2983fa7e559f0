import { VirtualRuntime } from '../../../runtime/index.js';
import { batchOf, sequenced } from './batch-of.spec-support.js';
import { Partition } from './partition.js';
import type { RefusalName } from '../faults/refusal.js';
import { TopicConfig } from './topic-config.js';

function setUp(config: Record<string, string> = {}) {
  const runtime = new VirtualRuntime();
  const partition = new Partition('t', 0, [1], new TopicConfig(config), runtime);
  return { runtime, partition };
}

const refused = (reason: RefusalName) => expect.objectContaining({ reason });

describe('Partition.append', () => {
  it('stores a copy, so that the sender may reuse its bytes', () => {
    const { partition } = setUp();
    const request = batchOf(['v']);
    const before = Buffer.from(request);
    partition.append(request);
    partition.append(request);
    expect(request.equals(before)).toBe(true);
    expect(partition.log.high).toBe(2);
  });

  it('accepts only one whole valid batch', () => {
    const { partition } = setUp();
    const batch = batchOf(['v']);
    const broken = Buffer.from(batch);
    broken.writeUInt8(0xff, broken.length - 1);
    for (const bytes of [broken, Buffer.concat([batch, batch]), batch.subarray(0, -1)])
      expect(() => partition.append(bytes)).toThrow(refused('CORRUPT_MESSAGE'));
    expect(partition.log.high).toBe(0);
  });

  it('refuses a batch larger than max.message.bytes', () => {
    const batch = batchOf(['x'.repeat(100)]);
    const limit = (bytes: number) => setUp({ 'max.message.bytes': String(bytes) }).partition;
    expect(() => limit(batch.length - 1).append(batch)).toThrow(refused('MESSAGE_TOO_LARGE'));
    expect(limit(batch.length).append(batch).baseOffset).toBe(0);
  });

  it('refuses a timestamp more than an hour in the future, as Kafka 4 does', () => {
    const { runtime, partition } = setUp();
    const at = (ahead: number) => batchOf(['v'], { timestamp: runtime.now() + ahead });
    expect(() => partition.append(at(3_600_001))).toThrow(refused('INVALID_TIMESTAMP'));
    expect(partition.append(at(3_600_000)).appendTime).toBe(-1);
  });

  it("stores the broker's time if the topic uses LogAppendTime", () => {
    const { runtime, partition } = setUp({ 'message.timestamp.type': 'LogAppendTime' });
    expect(partition.append(batchOf(['v'])).appendTime).toBe(runtime.now());
    expect(partition.log.batchesFrom(0)[0]?.maxTimestamp).toBe(runtime.now());
  });
});

describe('Partition retention', () => {
  it('deletes records older than retention.ms', async () => {
    const { runtime, partition } = setUp({ 'retention.ms': '60000' });
    partition.append(batchOf(['old'], { timestamp: runtime.now() }));
    await runtime.advance(59_999);
    partition.append(batchOf(['new'], { timestamp: runtime.now() }));
    partition.applyRetention();
    expect(partition.log.low).toBe(0);
    await runtime.advance(2);
    partition.applyRetention();
    expect([partition.log.low, partition.log.high]).toEqual([1, 2]);
  });

  it('never deletes records of a compacted topic', async () => {
    const { runtime, partition } = setUp({ 'retention.ms': '1', 'cleanup.policy': 'compact' });
    partition.append(batchOf(['old'], { timestamp: runtime.now() }));
    await runtime.advance(60_000);
    partition.applyRetention();
    expect(partition.log.low).toBe(0);
  });
});

describe('an idempotent producer of a Partition', () => {
  it('gets the same offset for a repeated batch, and the log does not change', () => {
    const { partition } = setUp();
    partition.append(sequenced(0, ['a', 'b']));
    partition.append(sequenced(2, ['c']));
    expect(partition.append(sequenced(0, ['a', 'b'])).baseOffset).toBe(0);
    expect(partition.log.high).toBe(3);
  });

  it('is refused for a gap, and for another length from the same start', () => {
    const { partition } = setUp();
    partition.append(sequenced(0, ['a']));
    const outOfOrder = refused('OUT_OF_ORDER_SEQUENCE_NUMBER');
    expect(() => partition.append(sequenced(2, ['c']))).toThrow(outOfOrder);
    expect(() => partition.append(sequenced(0, ['a', 'b']))).toThrow(outOfOrder);
  });

  it('can repeat its last five batches, no more', () => {
    const { partition } = setUp();
    for (let sequence = 0; sequence < 6; sequence++) partition.append(sequenced(sequence, ['v']));
    expect(partition.append(sequenced(1, ['v'])).baseOffset).toBe(1);
    expect(() => partition.append(sequenced(0, ['v']))).toThrow(
      refused('OUT_OF_ORDER_SEQUENCE_NUMBER'),
    );
  });

  it('starts a new epoch at sequence 0, and the old epoch is fenced', () => {
    const { partition } = setUp();
    partition.append(sequenced(0, ['a'], { producerEpoch: 3 }));
    expect(() => partition.append(sequenced(1, ['b'], { producerEpoch: 4 }))).toThrow(
      refused('OUT_OF_ORDER_SEQUENCE_NUMBER'),
    );
    partition.append(sequenced(0, ['b'], { producerEpoch: 4 }));
    expect(() => partition.append(sequenced(1, ['z'], { producerEpoch: 3 }))).toThrow(
      refused('INVALID_PRODUCER_EPOCH'),
    );
  });
});
