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
import { failureOf, producerOn, states, type LoggedLine } from './producer-on.spec-support.js';
import { ScriptedCluster } from './scripted-cluster.spec-support.js';

const to = (partition: number, value = 'v'): OutgoingRecord => ({
  topic: 'orders',
  partition,
  value,
});

describe('sends that wait for their topic to be known', () => {
  it('all end, however many they are', async () => {
    const cluster = new ScriptedCluster({ orders: [0] });
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

describe('what a send gives', () => {
  it('is one result per record, in the order of the call', async () => {
    const cluster = new ScriptedCluster({ orders: [0, 1], bills: [1] });
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

  it("has the broker's time where the topic says so", async () => {
    const cluster = new ScriptedCluster();
    cluster.script = () => ({ on: () => ({ appendTime: 99 }) });
    const producer = producerOn(cluster);
    expect(await producer.send([{ ...to(0), timestamp: 7 }])).toMatchObject([{ timestamp: 99 }]);
    await producer.close();
  });

  it('is nothing for an empty list, without asking anybody', async () => {
    const cluster = new ScriptedCluster();
    expect(await producerOn(cluster).send([])).toEqual([]);
    expect(cluster.metadataAsked).toBe(0);
  });

  it('is an error of the caller for records and options that nobody could send', async () => {
    const producer = producerOn(new ScriptedCluster());
    const nonsense = [{ topic: 'orders', value: 5 }] as unknown as OutgoingRecord[];
    await expect(producer.send(nonsense)).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(producer.send([to(0)], { timeoutMs: 0 })).rejects.toThrow(/at least 1/);
  });

  it('holds the bytes of the call, whatever the caller does to its buffers afterwards', async () => {
    const cluster = new ScriptedCluster();
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

describe('what shares a request', () => {
  it('is everything that is sent in one turn of the event loop', async () => {
    const cluster = new ScriptedCluster();
    const producer = producerOn(cluster);
    await Promise.all(Array.from({ length: 1_000 }, (_, n) => producer.send([to(n % 3)])));
    expect(cluster.asked).toHaveLength(1);
    expect(cluster.asked[0]?.partitions).toHaveLength(3);
    expect(cluster.asked[0]?.lane).toBe('produce:p1');
    await producer.close();
  });

  it('leaves at once while the leader has nothing to do', async () => {
    const cluster = new ScriptedCluster();
    const producer = producerOn(cluster, { lingerMs: 10_000 });
    await producer.send([to(0)]);
    expect(cluster.runtime.monotonic()).toBe(0);
    await producer.close();
  });

  it.each([
    [0, 1],
    [5, 2],
  ])('waits for company while the leader is busy: linger %i ms', async (lingerMs, requests) => {
    const cluster = new ScriptedCluster();
    cluster.script = (_, attempt) => ({ takesMs: attempt === 1 ? 1_000 : 0 });
    const producer = producerOn(cluster, { lingerMs });
    const first = producer.send([to(0)]);
    await cluster.runtime.settle();
    const second = producer.send([to(1)]);
    await cluster.runtime.settle();
    expect(cluster.asked).toHaveLength(3 - requests);
    await cluster.runtime.advance(lingerMs);
    expect(cluster.asked).toHaveLength(2);
    await cluster.runtime.advance(1_000);
    await Promise.all([first, second]);
    await producer.close();
  });

  it('does not wait once its batch is full', async () => {
    const cluster = new ScriptedCluster();
    cluster.script = (_, attempt) => ({ takesMs: attempt === 1 ? 1_000 : 0 });
    const producer = producerOn(cluster, { lingerMs: 500, batchBytes: 1_000 });
    const first = producer.send([to(0)]);
    await cluster.runtime.settle();
    const second = producer.send([to(1, 'x'.repeat(1_000))]);
    await cluster.runtime.settle();
    expect(cluster.asked).toHaveLength(2);
    await cluster.runtime.advance(1_000);
    await Promise.all([first, second]);
    await producer.close();
  });

  it('has at most one batch of a partition, and no more bytes than maxRequestBytes', async () => {
    const cluster = new ScriptedCluster();
    const producer = producerOn(cluster, { maxRequestBytes: 10_000 });
    const records = Array.from({ length: 200 }, (_, n) => to(n % 3, 'x'.repeat(500)));
    await producer.send(records);
    for (const { partitions } of cluster.asked) {
      expect(new Set(partitions.map(({ partition }) => partition)).size).toBe(partitions.length);
      const bytes = partitions.reduce((sum, { batchBytes }) => sum + batchBytes, 0);
      expect(bytes).toBeLessThanOrEqual(10_000);
    }
    await producer.close();
  });

  it('is compressed with gzip where that was asked for', async () => {
    const sizeOf = async (compression: 'none' | 'gzip') => {
      const cluster = new ScriptedCluster();
      const producer = producerOn(cluster, { compression });
      await producer.send(Array.from({ length: 50 }, () => to(0, 'same text again')));
      await producer.close();
      expect(cluster.log('orders', 0)).toHaveLength(50);
      return cluster.asked[0]?.partitions[0]?.batchBytes ?? 0;
    };
    expect(await sizeOf('gzip')).toBeLessThan((await sizeOf('none')) / 4);
  });
});

describe('what is under way at a time', () => {
  it('is up to five requests per leader, and one batch per partition', async () => {
    const cluster = new ScriptedCluster({ orders: Array<number>(20).fill(0) });
    cluster.script = () => ({ takesMs: 10 });
    const producer = producerOn(cluster, { lingerMs: 0 });
    const sends: Promise<unknown>[] = [];
    for (let partition = 0; partition < 20; partition++) {
      sends.push(producer.send([to(partition)]));
      await cluster.runtime.settle();
    }
    expect(cluster.mostUnderWay).toBe(5);
    await cluster.runtime.advance(100);
    await Promise.all(sends);
    await producer.close();
  });

  it('never has a partition twice, so that a retry is not overtaken', async () => {
    const cluster = new ScriptedCluster();
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

describe('where a record goes', () => {
  it('keeps its partition over a retry, also without a key', async () => {
    const cluster = new ScriptedCluster();
    cluster.script = (_, attempt) => ({ on: () => ({ code: attempt < 4 ? 6 : 0 }) });
    const producer = producerOn(cluster);
    const sending = producer.send([{ topic: 'orders', value: 'v' }]);
    await cluster.runtime.advance(5_000);
    await sending;
    const partitions = cluster.asked.map((asked) => asked.partitions[0]?.partition);
    expect(new Set(partitions).size).toBe(1);
    expect(partitions).toHaveLength(4);
    await producer.close();
  });

  it('follows the leader to another broker', async () => {
    const cluster = new ScriptedCluster({ orders: [0] });
    cluster.script = ({ node }) => {
      cluster.create('orders', [1]);
      return { on: () => ({ code: node === 0 ? 6 : 0, writes: node === 1 }) };
    };
    const producer = producerOn(cluster);
    const sending = producer.send([to(0)]);
    await cluster.runtime.advance(1_000);
    await sending;
    expect(cluster.asked.map(({ node }) => node)).toEqual([0, 1]);
    await producer.close();
  });

  it('waits for a partition without a leader, and keyless records avoid it', async () => {
    const cluster = new ScriptedCluster({ orders: [0, -1] });
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

  it('is refused for an explicit partition that does not exist; its companions are written', async () => {
    const cluster = new ScriptedCluster();
    const producer = producerOn(cluster);
    const error = await failureOf(producer.send([to(0), to(3), to(1)]));
    expect(states(error)).toEqual(['written', 'not-written', 'written']);
    expect(error.cause).toBeInstanceOf(UnknownPartitionError);
    expect(error.message).toMatch(/^Of 3 records: 1 not written, 2 written\. .*has no partition 3/);
    await producer.close();
  });

  it('may be a partition that was added since the metadata were read', async () => {
    const cluster = new ScriptedCluster({ orders: [0] });
    const producer = producerOn(cluster);
    await producer.send([to(0)]);
    cluster.create('orders', [0, 0]);
    await cluster.runtime.advance(1);
    expect(await producer.send([to(1)])).toMatchObject([{ partition: 1 }]);
    await producer.close();
  });
});

describe('a topic that does not exist', () => {
  it('is asked for until the deadline, then told; its companions are written', async () => {
    const cluster = new ScriptedCluster();
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

  it('gets its records, in order, once it is created', async () => {
    const cluster = new ScriptedCluster();
    const producer = producerOn(cluster);
    const sends = ['a', 'b', 'c'].map((value) => producer.send([{ topic: 'late', value }]));
    await cluster.runtime.advance(500);
    cluster.create('late', [0]);
    await cluster.runtime.advance(1_000);
    await Promise.all(sends);
    expect(cluster.log('late', 0)).toEqual(['a', 'b', 'c']);
    await producer.close();
  });

  it('keeps its order even where later records wait for memory by then', async () => {
    const cluster = new ScriptedCluster();
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

  it('is not asked for without a pause while the brokers cannot be reached', async () => {
    const cluster = new ScriptedCluster();
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

  it('is refused at once where the credentials do not allow it', async () => {
    const cluster = new ScriptedCluster();
    cluster.breakTopic('secret', 29);
    const producer = producerOn(cluster);
    const error = await failureOf(producer.send([{ topic: 'secret', value: 'v' }]));
    expect([error.retriable, error.brokerCode]).toEqual([false, 29]);
    await producer.close();
  });
});

describe('a record that is larger than maxRequestBytes', () => {
  it('fails alone and never leaves', async () => {
    const cluster = new ScriptedCluster();
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

describe('when no answer comes', () => {
  it.each([
    ['a time-out', new RequestTimeoutError('no answer')],
    ['a lost connection', new ConnectionError('reset')],
  ])('%s leaves the fate unknown, and the records are sent again', async (_, fails) => {
    const cluster = new ScriptedCluster();
    cluster.script = (__, attempt) => (attempt === 1 ? { fails } : {});
    const producer = producerOn(cluster);
    const sending = producer.send([to(0, 'a')]);
    await cluster.runtime.advance(1_000);
    await sending;
    expect(cluster.log('orders', 0)).toEqual(['a', 'a']);
    await producer.close();
  });

  it('metadata that never come hold the next attempt up for two seconds only', async () => {
    const cluster = new ScriptedCluster();
    cluster.script = (_, attempt) => (attempt === 1 ? { fails: new ConnectionError('reset') } : {});
    const producer = producerOn(cluster);
    const sending = producer.send([to(0)]);
    await cluster.runtime.settle();
    cluster.metadataHeldUp = new Deferred().promise;
    await cluster.runtime.advance(2_100);
    await sending;
    await producer.close();
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('the fate stays unknown when the next attempt is refused', async () => {
    const cluster = new ScriptedCluster();
    cluster.script = (_, attempt) =>
      attempt === 1 ? { fails: new ConnectionError('reset') } : { on: () => ({ code: 29 }) };
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([to(0)]));
    await cluster.runtime.advance(1_000);
    expect(states(await sending)).toEqual(['unknown']);
    await producer.close();
  });

  it('nothing is unknown while no connection could be made', async () => {
    const cluster = new ScriptedCluster();
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

  it('records that were given up while the connection was made never leave', async () => {
    const cluster = new ScriptedCluster();
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

describe('a request that was given up before it left', () => {
  it('does not leave later, beside the attempt that took its place', async () => {
    const cluster = new ScriptedCluster();
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

describe('the deadline', () => {
  it('ends a send whose request is under way: unknown', async () => {
    const cluster = new ScriptedCluster();
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

  it('of one call takes no other call with it', async () => {
    const cluster = new ScriptedCluster();
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

describe('a full buffer', () => {
  const large = (value: string) => to(0, value.repeat(400));

  it('makes later sends wait, in line', async () => {
    const cluster = new ScriptedCluster();
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

  it('is told at the deadline: not written', async () => {
    const cluster = new ScriptedCluster();
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

  it('is free again when those that filled it give up before they left', async () => {
    const cluster = new ScriptedCluster({ orders: Array<number>(7).fill(0) });
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

  it('lets one call through that is larger than all of it', async () => {
    const cluster = new ScriptedCluster();
    const producer = producerOn(cluster, { bufferBytes: 1_000, batchBytes: 500 });
    const written = await producer.send(Array.from({ length: 50 }, () => large('x')));
    expect(written.map(({ offset }) => offset)).toEqual([...Array(50).keys()]);
    await producer.close();
  });
});

describe('an abort signal', () => {
  it('that was aborted before lets nothing leave', async () => {
    const cluster = new ScriptedCluster();
    const error = await failureOf(
      producerOn(cluster).send([to(0), to(1)], { signal: AbortSignal.abort() }),
    );
    expect([states(error), error.retriable]).toEqual([['not-written', 'not-written'], false]);
    expect(cluster.asked).toEqual([]);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('gives up what has not left and waits for what is under way', async () => {
    const cluster = new ScriptedCluster();
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
    const cluster = new ScriptedCluster();
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

  it('ends the retries, and says what the last attempt left', async () => {
    const cluster = new ScriptedCluster();
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
    expect(cluster.asked).toHaveLength(1);
    await producer.close();
  });
});

describe('offsets that do not rise', () => {
  it('are logged as an error: the broker took the batch for another one', async () => {
    const cluster = new ScriptedCluster();
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

describe('closing', () => {
  it('waits for what is under way and for what lingers', async () => {
    const cluster = new ScriptedCluster();
    cluster.script = () => ({ takesMs: 100 });
    const producer = producerOn(cluster, { lingerMs: 60_000 });
    const first = producer.send([to(0)]);
    await cluster.runtime.settle();
    const lingering = producer.send([to(1)]);
    const closed = producer.close();
    await cluster.runtime.advance(200);
    await Promise.all([first, lingering, closed]);
    expect(cluster.closedLanes).toEqual(['produce:p1']);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('refuses further sends, also a second close is the first', async () => {
    const producer = producerOn(new ScriptedCluster());
    const closed = producer.close();
    expect(producer.close()).toBe(closed);
    await closed;
    await expect(producer.send([to(0)])).rejects.toBeInstanceOf(ClosedError);
  });

  it('is bounded: what cannot be finished is rejected with its fate', async () => {
    const cluster = new ScriptedCluster();
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
  ])('the cluster underneath leaves nothing hanging: %s', async (_, step, state) => {
    const cluster = new ScriptedCluster();
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
