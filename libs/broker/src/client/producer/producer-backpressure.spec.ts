import { BufferFullError } from '../../port/errors.js';
import { Deferred } from '../../runtime/index.js';
import { failureOf, producerOn, states } from './producer-under-test.spec-support.js';
import { ScriptedProduceCluster } from './scripted-produce-cluster.spec-support.js';
import { ordersRecord } from './producer-under-test.spec-support.js';

describe('KafkaProducer with many sends', () => {
  it('ends every send to a topic that is not known yet', async () => {
    const cluster = new ScriptedProduceCluster({ orders: [0] });
    const producer = producerOn(cluster);
    const count = 150_000;
    let ended = 0;
    for (let index = 0; index < count; index++)
      producer.send([{ topic: 'orders', partition: 0, value: 'v' }]).then(
        () => ended++,
        () => ended++,
      );
    await cluster.runtime.advance(130_000);
    expect(ended).toBe(count);
  }, 60_000);
});

describe('full buffer of KafkaProducer', () => {
  const large = (value: string) => ordersRecord(0, value.repeat(400));

  it('makes later sends wait, in order', async () => {
    const cluster = new ScriptedProduceCluster();
    const answered = new Deferred();
    cluster.script = (_, attempt) => (attempt === 1 ? { until: answered.promise } : {});
    const producer = producerOn(cluster, { bufferBytes: 1_000, batchBytes: 500 });
    const sends = ['a', 'b', 'c', 'd', 'e'].map((value) => producer.send([large(value)]));
    await cluster.runtime.settle();
    answered.resolve();
    await Promise.all(sends);
    const order = cluster.log('orders', 0).map((value) => value[0]);
    expect(order).toEqual(['a', 'b', 'c', 'd', 'e']);
    await producer.close();
  });

  it('fails waiting records at their deadline as not written', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ takesMs: 10_000 });
    const producer = producerOn(cluster, { bufferBytes: 1_000, batchBytes: 500 });
    const first = producer.send([large('a'), large('b')]);
    const late = failureOf(producer.send([large('c')], { timeoutMs: 100 }));
    await cluster.runtime.advance(100);
    const error = await late;
    expect([states(error), error.retriable]).toEqual([['not-written'], true]);
    expect(error.cause).toBeInstanceOf(BufferFullError);
    await cluster.runtime.advance(10_000);
    await first;
    await producer.close();
  });

  it('is released when records reach their deadline before they were sent', async () => {
    const cluster = new ScriptedProduceCluster({ orders: Array<number>(7).fill(0) });
    cluster.script = (_, attempt) => ({ takesMs: attempt === 1 ? 1_000 : 20_000 });
    const producer = producerOn(cluster, { bufferBytes: 1_000, batchBytes: 900, lingerMs: 0 });
    const busy: Promise<unknown>[] = [];
    for (const partition of [0, 1, 2, 3, 4]) {
      busy.push(producer.send([ordersRecord(partition)]));
      await cluster.runtime.settle();
    }
    const given = failureOf(producer.send([ordersRecord(5, 'x'.repeat(800))], { timeoutMs: 100 }));
    const waiting = producer.send([ordersRecord(6, 'y'.repeat(800))]);
    await cluster.runtime.advance(1_000);
    expect(states(await given)).toEqual(['not-written']);
    expect(cluster.log('orders', 6)).toHaveLength(1);
    await cluster.runtime.advance(60_000);
    await Promise.all([...busy, waiting]);
    await producer.close();
  });

  it('accepts a single call that is larger than the buffer', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster, { bufferBytes: 1_000, batchBytes: 500 });
    const written = await producer.send(Array.from({ length: 50 }, () => large('x')));
    expect(written.map(({ offset }) => offset)).toEqual([...Array(50).keys()]);
    await producer.close();
  });
});

describe('abort signal of a send', () => {
  it('prevents every request if it is aborted before the call', async () => {
    const cluster = new ScriptedProduceCluster();
    const error = await failureOf(
      producerOn(cluster).send([ordersRecord(0), ordersRecord(1)], { signal: AbortSignal.abort() }),
    );
    expect([states(error), error.retriable]).toEqual([['not-written', 'not-written'], false]);
    expect(cluster.produceRequests).toEqual([]);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('drops records that are not sent yet and waits for records in flight', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ takesMs: 100 });
    const producer = producerOn(cluster, { maxRequestBytes: 2_000 });
    const abort = new AbortController();
    const records = ['a', 'b'].map((value) => ordersRecord(0, value.repeat(1_000)));
    const sending = failureOf(producer.send(records, { signal: abort.signal }));
    await cluster.runtime.settle();
    abort.abort();
    await cluster.runtime.advance(100);
    expect(states(await sending)).toEqual(['written', 'not-written']);
    await cluster.runtime.advance(1_000);
    expect(cluster.log('orders', 0)).toHaveLength(1);
    await producer.close();
  });

  it('can be shared by many calls', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ on: () => ({ code: 19 }) });
    const producer = producerOn(cluster);
    const abort = new AbortController();
    const listeners = jest.spyOn(abort.signal, 'addEventListener');
    const sends = Array.from({ length: 50 }, () =>
      failureOf(producer.send([ordersRecord(0)], { signal: abort.signal })),
    );
    await cluster.runtime.settle();
    abort.abort();
    for (const error of await Promise.all(sends)) expect(states(error)).toEqual(['not-written']);
    expect(listeners).toHaveBeenCalledTimes(1);
    await producer.close();
  });

  it('ends the retries, and reports the result of the last attempt', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({
      takesMs: 100,
      on: ({ partition }) => ({ code: partition ? 19 : 7 }),
    });
    const producer = producerOn(cluster);
    const abort = new AbortController();
    const sending = failureOf(
      producer.send([ordersRecord(0), ordersRecord(1)], { signal: abort.signal }),
    );
    await cluster.runtime.settle();
    const reason = new TypeError('shutting down');
    abort.abort(reason);
    await cluster.runtime.advance(100);
    const error = await sending;
    expect(states(error)).toEqual(['unknown', 'not-written']);
    expect(error.message).toContain('Reason: TypeError.');
    expect(error.cause).toBe(reason);
    await cluster.runtime.advance(1_000);
    expect(cluster.produceRequests).toHaveLength(1);
    await producer.close();
  });
});
