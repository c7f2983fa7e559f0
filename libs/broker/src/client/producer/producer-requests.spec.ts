import { UnknownPartitionError } from '../../port/errors.js';
import { failureOf, producerOn, states } from './producer-under-test.spec-support.js';
import { ScriptedProduceCluster } from './scripted-produce-cluster.spec-support.js';
import { ordersRecord } from './producer-under-test.spec-support.js';

describe('requests of KafkaProducer', () => {
  it('contain all records that were sent in one turn of the event loop', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster);
    await Promise.all(
      Array.from({ length: 1_000 }, (_, n) => producer.send([ordersRecord(n % 3)])),
    );
    expect(cluster.produceRequests).toHaveLength(1);
    expect(cluster.produceRequests[0]?.partitions).toHaveLength(3);
    expect(cluster.produceRequests[0]?.channel).toBe('produce:p1');
    await producer.close();
  });

  it('are sent at once while the leader has no request in flight', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster, { lingerMs: 10_000 });
    await producer.send([ordersRecord(0)]);
    expect(cluster.runtime.monotonic()).toBe(0);
    await producer.close();
  });

  it.each([
    [0, 1],
    [5, 2],
  ])('wait for more records while the leader is busy: linger %i ms', async (lingerMs, requests) => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => ({ takesMs: attempt === 1 ? 1_000 : 0 });
    const producer = producerOn(cluster, { lingerMs });
    const first = producer.send([ordersRecord(0)]);
    await cluster.runtime.settle();
    const second = producer.send([ordersRecord(1)]);
    await cluster.runtime.settle();
    expect(cluster.produceRequests).toHaveLength(3 - requests);
    await cluster.runtime.advance(lingerMs);
    expect(cluster.produceRequests).toHaveLength(2);
    await cluster.runtime.advance(1_000);
    await Promise.all([first, second]);
    await producer.close();
  });

  it('do not wait once a batch is full', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => ({ takesMs: attempt === 1 ? 1_000 : 0 });
    const producer = producerOn(cluster, { lingerMs: 500, batchBytes: 1_000 });
    const first = producer.send([ordersRecord(0)]);
    await cluster.runtime.settle();
    const second = producer.send([ordersRecord(1, 'x'.repeat(1_000))]);
    await cluster.runtime.settle();
    expect(cluster.produceRequests).toHaveLength(2);
    await cluster.runtime.advance(1_000);
    await Promise.all([first, second]);
    await producer.close();
  });

  it('contain at most one batch of a partition, and no more than maxRequestBytes', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster, { maxRequestBytes: 10_000 });
    const records = Array.from({ length: 200 }, (_, n) => ordersRecord(n % 3, 'x'.repeat(500)));
    await producer.send(records);
    for (const { partitions } of cluster.produceRequests) {
      expect(new Set(partitions.map(({ partition }) => partition)).size).toBe(partitions.length);
      const bytes = partitions.reduce((sum, { batchBytes }) => sum + batchBytes, 0);
      expect(bytes).toBeLessThanOrEqual(10_000);
    }
    await producer.close();
  });

  it("are compressed with gzip if compression is 'gzip'", async () => {
    const sizeOf = async (compression: 'none' | 'gzip') => {
      const cluster = new ScriptedProduceCluster();
      const producer = producerOn(cluster, { compression });
      await producer.send(Array.from({ length: 50 }, () => ordersRecord(0, 'same text again')));
      await producer.close();
      expect(cluster.log('orders', 0)).toHaveLength(50);
      return cluster.produceRequests[0]?.partitions[0]?.batchBytes ?? 0;
    };
    expect(await sizeOf('gzip')).toBeLessThan((await sizeOf('none')) / 4);
  });
});

describe('requests of KafkaProducer in flight', () => {
  it('are limited to five per leader, with one batch per partition', async () => {
    const cluster = new ScriptedProduceCluster({ orders: Array<number>(20).fill(0) });
    cluster.script = () => ({ takesMs: 10 });
    const producer = producerOn(cluster, { lingerMs: 0 });
    const sends: Promise<unknown>[] = [];
    for (let partition = 0; partition < 20; partition++) {
      sends.push(producer.send([ordersRecord(partition)]));
      await cluster.runtime.settle();
    }
    expect(cluster.maxInFlight).toBe(5);
    await cluster.runtime.advance(100);
    await Promise.all(sends);
    await producer.close();
  });

  it('never contain a partition twice, so that no later batch overtakes a retry', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => ({ on: () => ({ code: attempt === 1 ? 19 : 0 }) });
    const producer = producerOn(cluster, { lingerMs: 0 });
    const first = producer.send([ordersRecord(0, 'first')]);
    await cluster.runtime.settle();
    const second = producer.send([ordersRecord(0, 'second'), ordersRecord(1, 'elsewhere')]);
    await cluster.runtime.settle();
    expect(cluster.log('orders', 1)).toEqual(['elsewhere']);
    expect(cluster.log('orders', 0)).toEqual([]);
    await cluster.runtime.advance(1_000);
    await Promise.all([first, second]);
    expect(cluster.log('orders', 0)).toEqual(['first', 'second']);
    await producer.close();
  });
});

describe('partition of a record', () => {
  it('stays the same in a retry, even if the record has no key', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => ({ on: () => ({ code: attempt < 4 ? 6 : 0 }) });
    const producer = producerOn(cluster);
    const sending = producer.send([{ topic: 'orders', value: 'v' }]);
    await cluster.runtime.advance(5_000);
    await sending;
    const partitions = cluster.produceRequests.map((asked) => asked.partitions[0]?.partition);
    expect(new Set(partitions).size).toBe(1);
    expect(partitions).toHaveLength(4);
    await producer.close();
  });

  it('is sent to the new leader after a leader change', async () => {
    const cluster = new ScriptedProduceCluster({ orders: [0] });
    cluster.script = ({ node }) => {
      cluster.create('orders', [1]);
      return { on: () => ({ code: node === 0 ? 6 : 0, writes: node === 1 }) };
    };
    const producer = producerOn(cluster);
    const sending = producer.send([ordersRecord(0)]);
    await cluster.runtime.advance(1_000);
    await sending;
    expect(cluster.produceRequests.map(({ node }) => node)).toEqual([0, 1]);
    await producer.close();
  });

  it('waits until it has a leader, and records without a key use other partitions meanwhile', async () => {
    const cluster = new ScriptedProduceCluster({ orders: [0, -1] });
    const producer = producerOn(cluster, { batchBytes: 1 });
    const keyless = Array.from({ length: 20 }, () => ({ topic: 'orders', value: 'v' }));
    const written = await producer.send(keyless);
    expect(new Set(written.map(({ partition }) => partition))).toEqual(new Set([0]));
    const sending = producer.send([ordersRecord(1)]);
    await cluster.runtime.advance(500);
    cluster.create('orders', [0, 0]);
    await cluster.runtime.advance(2_000);
    expect(await sending).toMatchObject([{ partition: 1, offset: 0 }]);
    await producer.close();
  });

  it('fails only its own record if the partition does not exist', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster);
    const error = await failureOf(
      producer.send([ordersRecord(0), ordersRecord(3), ordersRecord(1)]),
    );
    expect(states(error)).toEqual(['written', 'not-written', 'written']);
    expect(error.cause).toBeInstanceOf(UnknownPartitionError);
    expect(error.message).toMatch(/^Of 3 records: 1 not written, 2 written\. .*has no partition 3/);
    await producer.close();
  });

  it('is found even if it was added after the metadata were loaded', async () => {
    const cluster = new ScriptedProduceCluster({ orders: [0] });
    const producer = producerOn(cluster);
    await producer.send([ordersRecord(0)]);
    cluster.create('orders', [0, 0]);
    await cluster.runtime.advance(1);
    expect(await producer.send([ordersRecord(1)])).toMatchObject([{ partition: 1 }]);
    await producer.close();
  });
});
