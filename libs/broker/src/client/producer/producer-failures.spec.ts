import {
  ConnectionError,
  RecordTooLargeError,
  RequestTimeoutError,
  UnknownTopicError,
} from '../../port/errors.js';
import { Deferred } from '../../runtime/index.js';
import { failureOf, producerOn, states } from './producer-under-test.spec-support.js';
import { ScriptedProduceCluster } from './scripted-produce-cluster.spec-support.js';
import { ordersRecord } from './producer-under-test.spec-support.js';

describe('KafkaProducer with an unknown topic', () => {
  it('fails the record at the deadline, and writes the other records', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster);
    const sending = failureOf(
      producer.send([{ topic: 'missing', value: 'v' }, ordersRecord(0)], { timeoutMs: 1_000 }),
    );
    await cluster.runtime.advance(1_000);
    const error = await sending;
    expect(states(error)).toEqual(['not-written', 'written']);
    expect(error.cause).toBeInstanceOf(UnknownTopicError);
    expect(cluster.metadataAsked).toBeGreaterThan(3);
    await producer.close();
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('writes the records in order once the topic is created', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster);
    const sends = ['a', 'b', 'c'].map((value) => producer.send([{ topic: 'late', value }]));
    await cluster.runtime.advance(500);
    cluster.create('late', [0]);
    await cluster.runtime.advance(1_000);
    await Promise.all(sends);
    expect(cluster.log('late', 0)).toEqual(['a', 'b', 'c']);
    await producer.close();
  });

  it('keeps the order of records once the topic is created, even if later ones wait for buffer memory', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => (attempt === 2 ? { takesMs: 5_000 } : {});
    const producer = producerOn(cluster, { bufferBytes: 1_000, batchBytes: 500 });
    await producer.send([ordersRecord(0)]);
    const sends = [producer.send([{ topic: 'late', value: 'a' }])];
    await cluster.runtime.settle();
    sends.push(producer.send([ordersRecord(0, 'x'.repeat(900)), ordersRecord(0, 'y'.repeat(900))]));
    sends.push(producer.send([{ topic: 'late', value: 'b' }]));
    await cluster.runtime.advance(100);
    cluster.create('late', [0]);
    await cluster.runtime.advance(10_000);
    await Promise.all(sends);
    expect(cluster.log('late', 0)).toEqual(['a', 'b']);
    await producer.close();
  });

  it('backs off while the brokers cannot be reached', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster);
    await producer.send([ordersRecord(0)]);
    cluster.metadataFailure = new ConnectionError('refused');
    await cluster.runtime.advance(1);
    const error = failureOf(producer.send([ordersRecord(9)], { timeoutMs: 3_000 }));
    await cluster.runtime.advance(3_000);
    expect(states(await error)).toEqual(['not-written']);
    expect(cluster.metadataAsked).toBeLessThan(12);
    await producer.close();
  });

  it('fails the record at once if the credentials do not allow the topic', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.breakTopic('secret', 29);
    const producer = producerOn(cluster);
    const error = await failureOf(producer.send([{ topic: 'secret', value: 'v' }]));
    expect([error.retriable, error.brokerCode]).toEqual([false, 29]);
    await producer.close();
  });
});

describe('record larger than maxRequestBytes', () => {
  it('fails without affecting other records, and is never sent', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster, { maxRequestBytes: 4_000 });
    const error = await failureOf(
      producer.send([
        ordersRecord(0, 'a'),
        ordersRecord(0, 'x'.repeat(4_000)),
        ordersRecord(0, 'b'),
      ]),
    );
    expect(states(error)).toEqual(['written', 'not-written', 'written']);
    expect(error.cause).toBeInstanceOf(RecordTooLargeError);
    expect(cluster.log('orders', 0)).toEqual(['a', 'b']);
    await producer.close();
  });
});

describe('KafkaProducer without a response', () => {
  it.each([
    ['a timeout', new RequestTimeoutError('no answer')],
    ['a lost connection', new ConnectionError('reset')],
  ])('retries after %s, because the result is unknown', async (_, fails) => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (__, attempt) => (attempt === 1 ? { fails } : {});
    const producer = producerOn(cluster);
    const sending = producer.send([ordersRecord(0, 'a')]);
    await cluster.runtime.advance(1_000);
    await sending;
    expect(cluster.log('orders', 0)).toEqual(['a', 'a']);
    await producer.close();
  });

  it('delays the retry by at most two seconds if the metadata request gets no response', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => (attempt === 1 ? { fails: new ConnectionError('reset') } : {});
    const producer = producerOn(cluster);
    const sending = producer.send([ordersRecord(0)]);
    await cluster.runtime.settle();
    cluster.metadataGate = new Deferred().promise;
    await cluster.runtime.advance(2_100);
    await sending;
    await producer.close();
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('reports the result of the first attempt as unknown even if the retry is refused', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) =>
      attempt === 1 ? { fails: new ConnectionError('reset') } : { on: () => ({ code: 29 }) };
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([ordersRecord(0)]));
    await cluster.runtime.advance(1_000);
    expect(states(await sending)).toEqual(['unknown']);
    await producer.close();
  });

  it('reports records as not written if no connection could be opened', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.connecting = Promise.reject(new ConnectionError('refused'));
    cluster.connecting.catch(() => undefined);
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([ordersRecord(0)], { timeoutMs: 1_000 }));
    await cluster.runtime.advance(1_000);
    const error = await sending;
    expect(states(error)).toEqual(['not-written']);
    expect(error.message).toContain('refused');
    await producer.close();
  });

  it('does not send records whose signal aborted while the connection was opened', async () => {
    const cluster = new ScriptedProduceCluster();
    const connected = new Deferred();
    cluster.connecting = connected.promise;
    const producer = producerOn(cluster);
    const short = failureOf(producer.send([ordersRecord(0, 'given up')], { timeoutMs: 50 }));
    const long = producer.send([ordersRecord(0, 'kept')]);
    await cluster.runtime.advance(50);
    expect(states(await short)).toEqual(['not-written']);
    connected.resolve();
    await long;
    expect(cluster.log('orders', 0)).toEqual(['kept']);
    await producer.close();
  });
});

describe('request that timed out before it was sent', () => {
  it('is never sent later, because the retry has replaced it', async () => {
    const cluster = new ScriptedProduceCluster();
    const connected = new Deferred();
    cluster.connecting = connected.promise;
    const producer = producerOn(cluster, { requestTimeoutMs: 100 });
    const sending = producer.send([ordersRecord(0)]);
    await cluster.runtime.advance(190);
    connected.resolve();
    await sending;
    await cluster.runtime.settle();
    expect(cluster.log('orders', 0)).toEqual(['v']);
    await producer.close();
  });
});

describe('deadline of a send', () => {
  it('rejects as unknown if the request is in flight', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ takesMs: 5_000 });
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([ordersRecord(0)], { timeoutMs: 100 }));
    await cluster.runtime.advance(100);
    const error = await sending;
    expect(states(error)).toEqual(['unknown']);
    expect(error.message).toContain('may be in the log');
    await cluster.runtime.advance(5_000);
    await producer.close();
  });

  it('keeps a waiting record from being sent after it, also if the process was frozen until then', async () => {
    const cluster = new ScriptedProduceCluster();
    const answer = new Deferred();
    cluster.script = (_, attempt) => (attempt === 1 ? { until: answer.promise } : {});
    const producer = producerOn(cluster);
    const first = producer.send([ordersRecord(0, 'first')]);
    await cluster.runtime.settle();
    const late = failureOf(producer.send([ordersRecord(0, 'late')], { timeoutMs: 1_000 }));
    const other = producer.send([ordersRecord(0, 'other')]);
    await cluster.runtime.settle();
    // The clock has gone on, and no timer has fired yet.
    const { runtime } = cluster;
    const before = runtime.monotonic();
    jest.spyOn(runtime, 'monotonic').mockReturnValue(before + 5_000);
    answer.resolve();
    expect(states(await late)).toEqual(['not-written']);
    await first;
    await other;
    expect(cluster.log('orders', 0)).toEqual(['first', 'other']);
    jest.restoreAllMocks();
    await producer.close();
  });

  it('does not end other sends', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => ({ on: () => ({ code: attempt < 6 ? 19 : 0 }) });
    const producer = producerOn(cluster);
    const short = failureOf(producer.send([ordersRecord(0, 'short')], { timeoutMs: 60 }));
    const long = producer.send([ordersRecord(0, 'long')]);
    await cluster.runtime.advance(10_000);
    expect(states(await short)).toEqual(['not-written']);
    await long;
    expect(cluster.log('orders', 0)).toEqual(['long']);
    await producer.close();
  });
});
