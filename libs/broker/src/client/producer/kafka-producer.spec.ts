import {
  BufferFullError,
  ClosedError,
  ConnectionError,
  InvalidOptionError,
  RecordTooLargeError,
  RequestTimeoutError,
  UnknownPartitionError,
  UnknownTopicError,
} from '../../port/errors.js';
import type { OutgoingRecord } from '../../port/record.js';
import { Deferred } from '../../runtime/index.js';
import {
  failureOf,
  producerOn,
  states,
  type LoggedLine,
} from './producer-under-test.spec-support.js';
import { ScriptedProduceCluster } from './scripted-produce-cluster.spec-support.js';

const to = (partition: number, value = 'v'): OutgoingRecord => ({
  topic: 'orders',
  partition,
  value,
});

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

describe('KafkaProducer.send()', () => {
  it('returns one result per record, in the order of the call', async () => {
    const cluster = new ScriptedProduceCluster({ orders: [0, 1], bills: [1] });
    const producer = producerOn(cluster);
    const written = await producer.send([
      to(1, 'a'),
      { topic: 'bills', value: 'b', timestamp: 7 },
      to(0, 'c'),
      to(1, 'd'),
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
    expect(await producer.send([{ ...to(0), timestamp: 7 }])).toMatchObject([{ timestamp: 99 }]);
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
    await expect(producer.send([to(0)], { timeoutMs: 0 })).rejects.toThrow(/at least 1/);
  });

  it('sends the bytes of the call, even if the caller changes its buffers afterwards', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => ({ on: () => ({ code: attempt === 1 ? 10 : 0 }) });
    const producer = producerOn(cluster);
    await producer.send([to(0)]).catch(() => undefined);
    const value = Buffer.from('before');
    const sending = producer.send([{ ...to(0), value }, to(0, 'w')]);
    value.write('after!');
    await sending;
    expect(cluster.log('orders', 0)).toEqual(['before', 'w']);
    await producer.close();
  });
});

describe('requests of KafkaProducer', () => {
  it('contain everything that was sent in one turn of the event loop', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster);
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => producer.send([to(n % 3)])));
    expect(cluster.produceRequests).toHaveLength(1);
    expect(cluster.produceRequests[0]?.partitions).toHaveLength(3);
    expect(cluster.produceRequests[0]?.channel).toBe('produce:p1');
    await producer.close();
  });

  it('are sent at once while the leader has no request in flight', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster, { lingerMs: 10_000 });
    await producer.send([to(0)]);
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
    const first = producer.send([to(0)]);
    await cluster.runtime.settle();
    const second = producer.send([to(1)]);
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
    const first = producer.send([to(0)]);
    await cluster.runtime.settle();
    const second = producer.send([to(1, 'x'.repeat(1_000))]);
    await cluster.runtime.settle();
    expect(cluster.produceRequests).toHaveLength(2);
    await cluster.runtime.advance(1_000);
    await Promise.all([first, second]);
    await producer.close();
  });

  it('contain at most one batch of a partition, and no more than maxRequestBytes', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster, { maxRequestBytes: 10_000 });
    const records = Array.from({ length: 200 }, (_, n) => to(n % 3, 'x'.repeat(500)));
    await producer.send(records);
    for (const { partitions } of cluster.produceRequests) {
      expect(new Set(partitions.map(({ partition }) => partition)).size).toBe(partitions.length);
      const bytes = partitions.reduce((sum, { batchBytes }) => sum + batchBytes, 0);
      expect(bytes).toBeLessThanOrEqual(10_000);
    }
    await producer.close();
  });

  it('are compressed with gzip if configured', async () => {
    const sizeOf = async (compression: 'none' | 'gzip') => {
      const cluster = new ScriptedProduceCluster();
      const producer = producerOn(cluster, { compression });
      await producer.send(Array.from({ length: 50 }, () => to(0, 'same text again')));
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
      sends.push(producer.send([to(partition)]));
      await cluster.runtime.settle();
    }
    expect(cluster.maxInFlight).toBe(5);
    await cluster.runtime.advance(100);
    await Promise.all(sends);
    await producer.close();
  });

  it('never contain a partition twice, so that a retry is not overtaken', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => ({ on: () => ({ code: attempt === 1 ? 19 : 0 }) });
    const producer = producerOn(cluster, { lingerMs: 0 });
    const first = producer.send([to(0, 'first')]);
    await cluster.runtime.settle();
    const second = producer.send([to(0, 'second'), to(1, 'elsewhere')]);
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
  it('stays the same over a retry, even without a key', async () => {
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

  it('follows its leader to another broker', async () => {
    const cluster = new ScriptedProduceCluster({ orders: [0] });
    cluster.script = ({ node }) => {
      cluster.create('orders', [1]);
      return { on: () => ({ code: node === 0 ? 6 : 0, writes: node === 1 }) };
    };
    const producer = producerOn(cluster);
    const sending = producer.send([to(0)]);
    await cluster.runtime.advance(1_000);
    await sending;
    expect(cluster.produceRequests.map(({ node }) => node)).toEqual([0, 1]);
    await producer.close();
  });

  it('waits for a leader, and keyless records avoid partitions without one', async () => {
    const cluster = new ScriptedProduceCluster({ orders: [0, -1] });
    const producer = producerOn(cluster, { batchBytes: 1 });
    const keyless = Array.from({ length: 20 }, () => ({ topic: 'orders', value: 'v' }));
    const written = await producer.send(keyless);
    expect(new Set(written.map(({ partition }) => partition))).toEqual(new Set([0]));
    const sending = producer.send([to(1)]);
    await cluster.runtime.advance(500);
    cluster.create('orders', [0, 0]);
    await cluster.runtime.advance(2_000);
    expect(await sending).toMatchObject([{ partition: 1, offset: 0 }]);
    await producer.close();
  });

  it('fails its record if it does not exist; the other records are written', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster);
    const error = await failureOf(producer.send([to(0), to(3), to(1)]));
    expect(states(error)).toEqual(['written', 'not-written', 'written']);
    expect(error.cause).toBeInstanceOf(UnknownPartitionError);
    expect(error.message).toMatch(/^Of 3 records: 1 not written, 2 written\. .*has no partition 3/);
    await producer.close();
  });

  it('may have been added after the metadata were loaded', async () => {
    const cluster = new ScriptedProduceCluster({ orders: [0] });
    const producer = producerOn(cluster);
    await producer.send([to(0)]);
    cluster.create('orders', [0, 0]);
    await cluster.runtime.advance(1);
    expect(await producer.send([to(1)])).toMatchObject([{ partition: 1 }]);
    await producer.close();
  });
});

describe('KafkaProducer with an unknown topic', () => {
  it('retries until the deadline and fails the record; the other records are written', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster);
    const sending = failureOf(
      producer.send([{ topic: 'missing', value: 'v' }, to(0)], { timeoutMs: 1_000 }),
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

  it('keeps the order even if later records wait for memory by then', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => (attempt === 2 ? { takesMs: 5_000 } : {});
    const producer = producerOn(cluster, { bufferBytes: 1_000, batchBytes: 500 });
    await producer.send([to(0)]);
    const sends = [producer.send([{ topic: 'late', value: 'a' }])];
    await cluster.runtime.settle();
    sends.push(producer.send([to(0, 'x'.repeat(900)), to(0, 'y'.repeat(900))]));
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
    await producer.send([to(0)]);
    cluster.metadataFailure = new ConnectionError('refused');
    await cluster.runtime.advance(1);
    const error = failureOf(producer.send([to(9)], { timeoutMs: 3_000 }));
    await cluster.runtime.advance(3_000);
    expect(states(await error)).toEqual(['not-written']);
    expect(cluster.metadataAsked).toBeLessThan(12);
    await producer.close();
  });

  it('fails at once if the credentials do not allow the topic', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.breakTopic('secret', 29);
    const producer = producerOn(cluster);
    const error = await failureOf(producer.send([{ topic: 'secret', value: 'v' }]));
    expect([error.retriable, error.brokerCode]).toEqual([false, 29]);
    await producer.close();
  });
});

describe('record larger than maxRequestBytes', () => {
  it('fails alone and is never sent', async () => {
    const cluster = new ScriptedProduceCluster();
    const producer = producerOn(cluster, { maxRequestBytes: 4_000 });
    const error = await failureOf(
      producer.send([to(0, 'a'), to(0, 'x'.repeat(4_000)), to(0, 'b')]),
    );
    expect(states(error)).toEqual(['written', 'not-written', 'written']);
    expect(error.cause).toBeInstanceOf(RecordTooLargeError);
    expect(cluster.log('orders', 0)).toEqual(['a', 'b']);
    await producer.close();
  });
});

describe('KafkaProducer without a response', () => {
  it.each([
    ['a time-out', new RequestTimeoutError('no answer')],
    ['a lost connection', new ConnectionError('reset')],
  ])('retries after %s, because the result is unknown', async (_, fails) => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (__, attempt) => (attempt === 1 ? { fails } : {});
    const producer = producerOn(cluster);
    const sending = producer.send([to(0, 'a')]);
    await cluster.runtime.advance(1_000);
    await sending;
    expect(cluster.log('orders', 0)).toEqual(['a', 'a']);
    await producer.close();
  });

  it('delays the retry by at most two seconds if metadata do not arrive', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => (attempt === 1 ? { fails: new ConnectionError('reset') } : {});
    const producer = producerOn(cluster);
    const sending = producer.send([to(0)]);
    await cluster.runtime.settle();
    cluster.metadataGate = new Deferred().promise;
    await cluster.runtime.advance(2_100);
    await sending;
    await producer.close();
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('reports the result as unknown even if the retry is refused', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) =>
      attempt === 1 ? { fails: new ConnectionError('reset') } : { on: () => ({ code: 29 }) };
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([to(0)]));
    await cluster.runtime.advance(1_000);
    expect(states(await sending)).toEqual(['unknown']);
    await producer.close();
  });

  it('reports records as not written if no connection could be opened', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.connecting = Promise.reject(new ConnectionError('refused'));
    cluster.connecting.catch(() => undefined);
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([to(0)], { timeoutMs: 1_000 }));
    await cluster.runtime.advance(1_000);
    const error = await sending;
    expect(states(error)).toEqual(['not-written']);
    expect(error.message).toContain('refused');
    await producer.close();
  });

  it('does not send records that were abandoned while the connection was opened', async () => {
    const cluster = new ScriptedProduceCluster();
    const connected = new Deferred();
    cluster.connecting = connected.promise;
    const producer = producerOn(cluster);
    const short = failureOf(producer.send([to(0, 'given up')], { timeoutMs: 50 }));
    const long = producer.send([to(0, 'kept')]);
    await cluster.runtime.advance(50);
    expect(states(await short)).toEqual(['not-written']);
    connected.resolve();
    await long;
    expect(cluster.log('orders', 0)).toEqual(['kept']);
    await producer.close();
  });
});

describe('request that timed out before it was sent', () => {
  it('is not sent later, beside the retry that replaced it', async () => {
    const cluster = new ScriptedProduceCluster();
    const connected = new Deferred();
    cluster.connecting = connected.promise;
    const producer = producerOn(cluster, { requestTimeoutMs: 100 });
    const sending = producer.send([to(0)]);
    await cluster.runtime.advance(190);
    connected.resolve();
    await sending;
    await cluster.runtime.settle();
    expect(cluster.log('orders', 0)).toEqual(['v']);
    await producer.close();
  });
});

describe('deadline of a send', () => {
  it('rejects a send whose request is in flight as unknown', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ takesMs: 5_000 });
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([to(0)], { timeoutMs: 100 }));
    await cluster.runtime.advance(100);
    const error = await sending;
    expect(states(error)).toEqual(['unknown']);
    expect(error.message).toContain('may be in the log');
    await cluster.runtime.advance(5_000);
    await producer.close();
  });

  it('does not affect other sends', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = (_, attempt) => ({ on: () => ({ code: attempt < 6 ? 19 : 0 }) });
    const producer = producerOn(cluster);
    const short = failureOf(producer.send([to(0, 'short')], { timeoutMs: 60 }));
    const long = producer.send([to(0, 'long')]);
    await cluster.runtime.advance(10_000);
    expect(states(await short)).toEqual(['not-written']);
    await long;
    expect(cluster.log('orders', 0)).toEqual(['long']);
    await producer.close();
  });
});

describe('full buffer of KafkaProducer', () => {
  const large = (value: string) => to(0, value.repeat(400));

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

  it('is released when records are abandoned before they were sent', async () => {
    const cluster = new ScriptedProduceCluster({ orders: Array<number>(7).fill(0) });
    cluster.script = (_, attempt) => ({ takesMs: attempt === 1 ? 1_000 : 20_000 });
    const producer = producerOn(cluster, { bufferBytes: 1_000, batchBytes: 900, lingerMs: 0 });
    const busy: Promise<unknown>[] = [];
    for (const partition of [0, 1, 2, 3, 4]) {
      busy.push(producer.send([to(partition)]));
      await cluster.runtime.settle();
    }
    const given = failureOf(producer.send([to(5, 'x'.repeat(800))], { timeoutMs: 100 }));
    const waiting = producer.send([to(6, 'y'.repeat(800))]);
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
  it('prevents every request if it aborted before', async () => {
    const cluster = new ScriptedProduceCluster();
    const error = await failureOf(
      producerOn(cluster).send([to(0), to(1)], { signal: AbortSignal.abort() }),
    );
    expect([states(error), error.retriable]).toEqual([['not-written', 'not-written'], false]);
    expect(cluster.produceRequests).toEqual([]);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('abandons records that are not sent yet and waits for records in flight', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ takesMs: 100 });
    const producer = producerOn(cluster, { maxRequestBytes: 2_000 });
    const abort = new AbortController();
    const records = ['a', 'b'].map((value) => to(0, value.repeat(1_000)));
    const sending = failureOf(producer.send(records, { signal: abort.signal }));
    await cluster.runtime.settle();
    abort.abort();
    await cluster.runtime.advance(100);
    expect(states(await sending)).toEqual(['written', 'not-written']);
    await cluster.runtime.advance(1_000);
    expect(cluster.log('orders', 0)).toHaveLength(1);
    await producer.close();
  });

  it('may be shared by many calls', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ on: () => ({ code: 19 }) });
    const producer = producerOn(cluster);
    const abort = new AbortController();
    const listeners = jest.spyOn(abort.signal, 'addEventListener');
    const sends = Array.from({ length: 50 }, () =>
      failureOf(producer.send([to(0)], { signal: abort.signal })),
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
    const sending = failureOf(producer.send([to(0), to(1)], { signal: abort.signal }));
    await cluster.runtime.settle();
    abort.abort(new Error('shutting down'));
    await cluster.runtime.advance(100);
    const error = await sending;
    expect(states(error)).toEqual(['unknown', 'not-written']);
    expect(error.message).toContain('shutting down');
    await cluster.runtime.advance(1_000);
    expect(cluster.produceRequests).toHaveLength(1);
    await producer.close();
  });
});

describe('base offset of an acknowledgement', () => {
  it('is logged as an error if it does not rise, because the broker took the batch for a repetition', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ on: () => ({ baseOffset: 5 }) });
    const lines: LoggedLine[] = [];
    const producer = producerOn(cluster, {}, lines);
    await producer.send([to(0)]);
    expect(lines).toEqual([]);
    await producer.send([to(0)]);
    expect(lines).toMatchObject([{ level: 'error' }]);
    await producer.close();
  });
});

describe('KafkaProducer.close()', () => {
  it('waits for records in flight and for lingering records', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ takesMs: 100 });
    const producer = producerOn(cluster, { lingerMs: 60_000 });
    const first = producer.send([to(0)]);
    await cluster.runtime.settle();
    const lingering = producer.send([to(1)]);
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
    await expect(producer.send([to(0)])).rejects.toBeInstanceOf(ClosedError);
  });

  it('is bounded, and rejects unfinished records with their state', async () => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => ({ takesMs: 1_000_000 });
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([to(0), { topic: 'missing', value: 'v' }]));
    await cluster.runtime.settle();
    const closed = producer.close();
    await cluster.runtime.advance(30_000);
    await closed;
    expect(states(await sending)).toEqual(['unknown', 'not-written']);
  });

  it.each([
    ['a request is under way', { takesMs: 10_000 }, 'unknown'],
    ['a retry waits', { on: () => ({ code: 19 }) }, 'not-written'],
  ])('leaves no send pending if the cluster is closed first: %s', async (_, step, state) => {
    const cluster = new ScriptedProduceCluster();
    cluster.script = () => step;
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([to(0)]));
    await cluster.runtime.settle();
    cluster.metadataFailure = new ClosedError('The driver was closed.');
    cluster.close();
    await cluster.runtime.advance(1_000);
    const error = await sending;
    expect(states(error)).toEqual([state]);
    expect(error.cause).toBeInstanceOf(ClosedError);
    await expect(producer.send([to(0)])).rejects.toBeInstanceOf(ClosedError);
    await producer.close();
  });
});
