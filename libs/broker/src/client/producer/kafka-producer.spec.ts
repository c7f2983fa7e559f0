import { ClosedError, InvalidOptionError } from '../../port/errors.js';
import type { OutgoingRecord } from '../../port/record.js';
import {
  failureOf,
  producerOn,
  states,
  type LoggedLine,
} from './producer-under-test.spec-support.js';
import { ScriptedProduceCluster } from './scripted-produce-cluster.spec-support.js';
import { ordersRecord } from './producer-under-test.spec-support.js';

describe('KafkaProducer.send()', () => {
  it('returns one result per record, in the order of the call', async () => {
    const cluster = new ScriptedProduceCluster({ orders: [0, 1], bills: [1] });
    const producer = producerOn(cluster);
    const written = await producer.send([
      ordersRecord(1, 'a'),
      { topic: 'bills', value: 'b', timestamp: 7 },
      ordersRecord(0, 'c'),
      ordersRecord(1, 'd'),
    ]);
    const timestamp = cluster.runtime.now();
    expect(written).toEqual([
      { topic: 'orders', partition: 1, offset: 0, timestamp },
      { topic: 'bills', partition: 0, offset: 0, timestamp: 7 },
      { topic: 'orders', partition: 0, offset: 0, timestamp },
      { topic: 'orders', partition: 1, offset: 1, timestamp },
    ]);
    await producer.close();
  });

  it("returns the broker's timestamp if the topic uses LogAppendTime", async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ on: () => ({ appendTime: 99 }) });
    const producer = producerOn(cluster);
    expect(await producer.send([{ ...ordersRecord(0), timestamp: 7 }])).toMatchObject([
      { timestamp: 99 },
    ]);
    await producer.close();
  });

  it('returns an empty list for an empty list, without any request', async () => {
    const cluster = new ScriptedProduceCluster();
    expect(await producerOn(cluster).send([])).toEqual([]);
    expect(cluster.metadataAsked).toBe(0);
  });

  it('rejects invalid records and options', async () => {
    const producer = producerOn(new ScriptedProduceCluster());
    const nonsense = [{ topic: 'orders', value: 5 }] as unknown as OutgoingRecord[];
    await expect(producer.send(nonsense)).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(producer.send([ordersRecord(0)], { timeoutMs: 0 })).rejects.toThrow(/at least 1/);
  });

  it('sends the bytes of the record as they are at the call, even if the caller changes its buffers afterwards', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => ({ on: () => ({ code: attempt === 1 ? 10 : 0 }) });
    const producer = producerOn(cluster);
    await producer.send([ordersRecord(0)]).catch(() => undefined);
    const value = Buffer.from('before');
    const sending = producer.send([{ ...ordersRecord(0), value }, ordersRecord(0, 'w')]);
    value.write('after!');
    await sending;
    expect(cluster.log('orders', 0)).toEqual(['before', 'w']);
    await producer.close();
  });
});

describe('base offset of an acknowledgement', () => {
  it('is logged as an error if it does not increase, because the broker then took the batch for a duplicate', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ on: () => ({ baseOffset: 5 }) });
    const lines: LoggedLine[] = [];
    const producer = producerOn(cluster, {}, lines);
    await producer.send([ordersRecord(0)]);
    expect(lines).toEqual([]);
    await producer.send([ordersRecord(0)]);
    expect(lines).toMatchObject([{ level: 'error' }]);
    await producer.close();
  });
});

describe('KafkaProducer.close()', () => {
  it('waits for records in flight and for lingering records', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ takesMs: 100 });
    const producer = producerOn(cluster, { lingerMs: 60_000 });
    const first = producer.send([ordersRecord(0)]);
    await cluster.runtime.settle();
    const lingering = producer.send([ordersRecord(1)]);
    const closed = producer.close();
    await cluster.runtime.advance(200);
    await Promise.all([first, lingering, closed]);
    expect(cluster.closedChannels).toEqual(['produce:p1']);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('rejects further sends, and returns the same promise when called again', async () => {
    const producer = producerOn(new ScriptedProduceCluster());
    const closed = producer.close();
    expect(producer.close()).toBe(closed);
    await closed;
    await expect(producer.send([ordersRecord(0)])).rejects.toBeInstanceOf(ClosedError);
  });

  it('ends within a fixed time, and rejects unfinished records with their state', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ takesMs: 1_000_000 });
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([ordersRecord(0), { topic: 'missing', value: 'v' }]));
    await cluster.runtime.settle();
    const closed = producer.close();
    await cluster.runtime.advance(30_000);
    await closed;
    expect(states(await sending)).toEqual(['unknown', 'not-written']);
  });

  it.each([
    ['a request is in flight', { takesMs: 10_000 }, 'unknown'],
    ['a retry waits', { on: () => ({ code: 19 }) }, 'not-written'],
  ])('lets no send wait forever if the cluster is closed first: %s', async (_, step, state) => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => step;
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([ordersRecord(0)]));
    await cluster.runtime.settle();
    cluster.metadataFailure = new ClosedError('The driver was closed.');
    cluster.close();
    await cluster.runtime.advance(1_000);
    const error = await sending;
    expect(states(error)).toEqual([state]);
    expect(error.cause).toBeInstanceOf(ClosedError);
    await expect(producer.send([ordersRecord(0)])).rejects.toBeInstanceOf(ClosedError);
    await producer.close();
  });
});
