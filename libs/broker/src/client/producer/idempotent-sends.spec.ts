import {
  AuthorizationError,
  ConnectionError,
  RequestTimeoutError,
  type SendError,
} from '../../port/errors.js';
import {
  failureOf,
  producerOn,
  states,
  type LoggedLine,
  ordersRecord,
} from './producer-under-test.spec-support.js';
import {
  ScriptedProduceCluster,
  type ReceivedPartition,
  type PartitionStep,
  type ProduceStep,
} from './scripted-produce-cluster.spec-support.js';
import { SequencedLog } from './sequenced-log.spec-support.js';

const cut = () => new ConnectionError('cut');

/**
 * Creates a cluster whose leaders check sequence numbers. `script` can replace the result of an
 * attempt.
 */
function checkedCluster(
  script: (
    attempt: number,
    append: (asked: ReceivedPartition) => PartitionStep,
  ) => ProduceStep = () => ({}),
) {
  const cluster = new ScriptedProduceCluster();
  const logs = [0, 1, 2].map(() => new SequencedLog());
  const append = (asked: ReceivedPartition) => logs[asked.partition]?.append(asked) ?? {};
  cluster.script = (_, attempt) => ({ on: append, ...script(attempt, append) });
  return { cluster, logs };
}

/** Returns the stamps of the received batches: partition, producer id, epoch and base sequence. */
function stamps(cluster: ScriptedProduceCluster): readonly string[] {
  return cluster.produceRequests.flatMap(({ partitions }) =>
    partitions.map(
      ({ partition, stamp }) =>
        `p${partition} id${stamp.producerId} e${stamp.producerEpoch} s${stamp.baseSequence}`,
    ),
  );
}

describe('producer stamp (producer id, epoch and sequence) of a batch', () => {
  it('counts the records of its partition, under one producer id for all partitions', async () => {
    const { cluster } = checkedCluster();
    const producer = producerOn(cluster);
    expect(cluster.identitiesAsked).toBe(0);
    await producer.send([ordersRecord(0), ordersRecord(0), ordersRecord(1)]);
    await producer.send([ordersRecord(0), ordersRecord(1)]);
    await producer.send([ordersRecord(0)]);
    expect(cluster.identitiesAsked).toBe(1);
    expect(stamps(cluster)).toEqual([
      'p0 id1 e0 s0',
      'p1 id1 e0 s0',
      'p0 id1 e0 s2',
      'p1 id1 e0 s1',
      'p0 id1 e0 s3',
    ]);
    await producer.close();
  });

  it('is empty with idempotent: false, and no producer id is requested', async () => {
    const { cluster } = checkedCluster();
    const producer = producerOn(cluster, { idempotent: false });
    await producer.send([ordersRecord(0)]);
    expect(cluster.identitiesAsked).toBe(0);
    expect(stamps(cluster)).toEqual(['p0 id-1 e-1 s-1']);
    await producer.close();
  });

  it.each([
    ['a lost response', { fails: cut() }],
    ['a leader that moved', { on: () => ({ code: 6 }) }],
    ['too few replicas', { on: () => ({ code: 19 }) }],
  ])('stays the same over a retry after %s', async (_, step) => {
    const { cluster } = checkedCluster((attempt) => (attempt === 2 ? step : {}));
    const producer = producerOn(cluster);
    await producer.send([ordersRecord(0, 'a')]);
    const sending = producer.send([ordersRecord(0, 'b'), ordersRecord(0, 'c')]);
    await cluster.runtime.advance(1_000);
    await sending;
    await producer.send([ordersRecord(0, 'd')]);
    expect(stamps(cluster).slice(1)).toEqual(['p0 id1 e0 s1', 'p0 id1 e0 s1', 'p0 id1 e0 s3']);
    expect(cluster.log('orders', 0)).toEqual(['a', 'b', 'c', 'd']);
    await producer.close();
  });

  it('stays the same when the batch is sent again, also if one of its sends was aborted', async () => {
    const { cluster } = checkedCluster((attempt) => (attempt === 1 ? { fails: cut() } : {}));
    const producer = producerOn(cluster);
    const abort = new AbortController();
    const aborted = failureOf(
      producer.send([ordersRecord(0, 'aborted')], { signal: abort.signal }),
    );
    const kept = producer.send([ordersRecord(0, 'kept')]);
    await cluster.runtime.settle();
    abort.abort();
    await cluster.runtime.advance(1_000);
    expect(states(await aborted)).toEqual(['unknown']);
    expect(await kept).toMatchObject([{ offset: 1 }]);
    expect(cluster.log('orders', 0)).toEqual(['aborted', 'kept']);
    await producer.close();
  });
});

describe('batch that was written although its response was lost', () => {
  it('is not written again by the retry, which returns the first offset', async () => {
    const { cluster } = checkedCluster((attempt) => (attempt === 1 ? { fails: cut() } : {}));
    const producer = producerOn(cluster);
    const sending = producer.send([ordersRecord(0, 'a'), ordersRecord(0, 'b')]);
    await cluster.runtime.advance(1_000);
    expect(await sending).toMatchObject([{ offset: 0 }, { offset: 1 }]);
    expect(cluster.log('orders', 0)).toEqual(['a', 'b']);
    await producer.close();
  });

  it('counts as written after DUPLICATE_SEQUENCE_NUMBER, at an unknown offset', async () => {
    const { cluster } = checkedCluster((attempt, append) => {
      if (attempt === 1) return { fails: cut(), on: append };
      return attempt === 2 ? { on: () => ({ code: 46 }) } : {};
    });
    const producer = producerOn(cluster);
    const sending = producer.send([ordersRecord(0, 'a')]);
    await cluster.runtime.advance(1_000);
    expect(await sending).toMatchObject([{ offset: -1 }]);
    expect(await producer.send([ordersRecord(0, 'b')])).toMatchObject([{ offset: 1 }]);
    expect(cluster.log('orders', 0)).toEqual(['a', 'b']);
    await producer.close();
  });
});

describe('batch after a failed batch', () => {
  it('is written at once with a new sequence number if the result of the failed batch is unknown', async () => {
    const { cluster } = checkedCluster((attempt) =>
      attempt === 1 ? { fails: cut(), takesMs: 100 } : {},
    );
    const producer = producerOn(cluster);
    const lost = failureOf(producer.send([ordersRecord(0, 'lost answer')], { timeoutMs: 40 }));
    await cluster.runtime.advance(2_000);
    expect(states(await lost)).toEqual(['unknown']);
    // The batch has as many records as the lost one. Under the same sequence number a broker would
    // treat it as a duplicate and drop it.
    expect(await producer.send([ordersRecord(0, 'next')])).toMatchObject([{ offset: 1 }]);
    expect(cluster.log('orders', 0)).toEqual(['lost answer', 'next']);
    expect(stamps(cluster).at(-1)).toBe('p0 id1 e1 s0');
    await producer.close();
  });

  it('has a new epoch, so that the broker refuses a delayed request of the old epoch', async () => {
    const { cluster } = checkedCluster((attempt, on) =>
      attempt === 1 ? { fails: cut(), takesMs: 100, arrivesAfterMs: 5_000, on } : {},
    );
    const producer = producerOn(cluster);
    const late = failureOf(producer.send([ordersRecord(0, 'late')], { timeoutMs: 40 }));
    await cluster.runtime.advance(2_000);
    expect(states(await late)).toEqual(['unknown']);
    await producer.send([ordersRecord(0, 'next')]);
    await cluster.runtime.advance(10_000);
    expect(cluster.log('orders', 0)).toEqual(['next']);
    await producer.close();
  });

  it('gets a new sequence number, because the broker may have written the batch that it refused', async () => {
    const { cluster } = checkedCluster((attempt, append) =>
      attempt === 1
        ? {
            on: (asked) => {
              append(asked);
              return { code: 9_999, writes: true };
            },
          }
        : {},
    );
    const producer = producerOn(cluster);
    await failureOf(producer.send([ordersRecord(0, 'refused')]));
    await producer.send([ordersRecord(0, 'next')]);
    expect(cluster.log('orders', 0)).toContain('next');
    await producer.close();
  });

  it('does not change the epoch of other partitions', async () => {
    const { cluster } = checkedCluster((attempt, append) =>
      attempt === 2
        ? { on: (asked) => (asked.partition === 0 ? { code: 32 } : append(asked)) }
        : {},
    );
    const producer = producerOn(cluster);
    await producer.send([ordersRecord(0), ordersRecord(1)]);
    await failureOf(producer.send([ordersRecord(0), ordersRecord(1)]));
    await producer.send([ordersRecord(0), ordersRecord(1)]);
    expect(stamps(cluster).slice(-2)).toEqual(['p0 id1 e1 s0', 'p1 id1 e0 s2']);
    await producer.close();
  });

  it('keeps its position among concurrent sends if earlier batches are retried', async () => {
    const { cluster } = checkedCluster((attempt) =>
      attempt % 2 === 1 ? { fails: cut(), takesMs: 5 } : {},
    );
    const producer = producerOn(cluster, { maxRequestBytes: 800, lingerMs: 0 });
    const values = Array.from({ length: 20 }, (_, at) => `${at}`.padEnd(100));
    const sends = values.map((value) => producer.send([ordersRecord(0, value)]));
    await cluster.runtime.advance(60_000);
    const written = (await Promise.all(sends)).flat();
    expect(cluster.log('orders', 0)).toEqual(values);
    expect(written.map(({ offset }) => offset)).toEqual(values.map((_, at) => at));
    await producer.close();
  });
});

describe('batch that may be written already, and that the broker then refuses as too large', () => {
  it.each([10, 87])(
    'is not split after code %i, because its parts might be written twice',
    async (code) => {
      const refuse = () => ({ code, recordErrors: [[0, 'why'] as const] });
      const { cluster } = checkedCluster((attempt) => {
        if (attempt === 1) return { fails: cut() };
        return attempt === 2 ? { on: refuse } : {};
      });
      const producer = producerOn(cluster);
      const sending = failureOf(producer.send([ordersRecord(0, 'a'), ordersRecord(0, 'b')]));
      await cluster.runtime.advance(1_000);
      expect(states(await sending)).toEqual(['unknown', 'unknown']);
      await producer.send([ordersRecord(0, 'c')]);
      expect(cluster.log('orders', 0)).toEqual(['a', 'b', 'c']);
      await producer.close();
    },
  );
});

describe.each([
  [45, 'OUT_OF_ORDER_SEQUENCE_NUMBER', 'id1 e1'],
  [59, 'UNKNOWN_PRODUCER_ID', 'id1 e1'],
  [47, 'INVALID_PRODUCER_EPOCH', 'id2 e0'],
  [90, 'PRODUCER_FENCED', 'id2 e0'],
])('code %i %s', (code, _, identity) => {
  it('causes a batch that was certainly not written to be sent again, with a new sequence number', async () => {
    const lines: LoggedLine[] = [];
    const { cluster } = checkedCluster((attempt) =>
      attempt === 2 ? { on: () => ({ code }) } : {},
    );
    const producer = producerOn(cluster, {}, lines);
    await producer.send([ordersRecord(0, 'a'), ordersRecord(1)]);
    const sending = producer.send([ordersRecord(0, 'b')]);
    await cluster.runtime.advance(1_000);
    expect(await sending).toMatchObject([{ offset: 1 }]);
    await producer.send([ordersRecord(0, 'c'), ordersRecord(1)]);
    expect(stamps(cluster).slice(2)).toEqual([
      'p0 id1 e0 s1',
      `p0 ${identity} s0`,
      `p0 ${identity} s1`,
      'p1 id1 e0 s1',
    ]);
    expect(cluster.log('orders', 0)).toEqual(['a', 'b', 'c']);
    expect(lines.map(({ level }) => level)).toEqual(['warn']);
    await producer.close();
  });

  it('rejects a batch with an unknown result, and later batches are written', async () => {
    const { cluster } = checkedCluster((attempt) => {
      if (attempt === 1) return { fails: cut() };
      return attempt === 2 ? { on: () => ({ code }) } : {};
    });
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([ordersRecord(0, 'a')]));
    await cluster.runtime.advance(1_000);
    const error: SendError = await sending;
    expect([states(error), error.brokerCode]).toEqual([['unknown'], code]);
    await producer.send([ordersRecord(0, 'b')]);
    expect(cluster.log('orders', 0)).toEqual(['a', 'b']);
    expect(stamps(cluster).at(-1)).toBe(`p0 ${identity} s0`);
    await producer.close();
  });

  it('rejects the batch as not written if every response has this code, and backs off between attempts', async () => {
    const { cluster } = checkedCluster(() => ({ on: () => ({ code }) }));
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([ordersRecord(0)], { timeoutMs: 10_000 }));
    await cluster.runtime.advance(12_000);
    expect(states(await sending)).toEqual(['not-written']);
    expect(cluster.produceRequests.length).toBeLessThan(40);
    await producer.close();
    expect(cluster.runtime.pendingTimers).toBe(0);
  });
});

describe.each([45, 47, 59, 90])(
  'code %i in a response to a producer that is not idempotent',
  (code) => {
    it('fails the batch without a retry, because the code makes no sense for such a producer', async () => {
      const { cluster } = checkedCluster(() => ({ on: () => ({ code }) }));
      const producer = producerOn(cluster, { idempotent: false });
      expect(states(await failureOf(producer.send([ordersRecord(0)])))).toEqual(['not-written']);
      expect(cluster.produceRequests).toHaveLength(1);
      await producer.close();
    });
  },
);

describe('leader that lost the latest producer state', () => {
  it('gets the next batch in a new epoch', async () => {
    const { cluster, logs } = checkedCluster();
    const producer = producerOn(cluster);
    await producer.send([ordersRecord(0, 'a')]);
    await producer.send([ordersRecord(0, 'b')]);
    logs[0]?.forgetLatest();
    const sending = producer.send([ordersRecord(0, 'c'), ordersRecord(0, 'd')]);
    await cluster.runtime.advance(1_000);
    await sending;
    expect(cluster.log('orders', 0)).toEqual(['a', 'b', 'c', 'd']);
    await producer.close();
  });
});

describe('request for a producer id', () => {
  it.each([
    ['a coordinator that loads', { code: 14 }],
    ['no coordinator', { code: 15 }],
    ['a cluster without a producer id to give', { producerId: -1n }],
    ['a broken connection', { fails: cut() }],
    ['a timeout', { fails: new RequestTimeoutError('late') }],
  ])('is repeated after %s', async (_, step) => {
    const { cluster } = checkedCluster();
    cluster.identityScript = (attempt) => (attempt <= 2 ? step : { producerId: 9n });
    const producer = producerOn(cluster);
    const sends = [producer.send([ordersRecord(0, 'a')]), producer.send([ordersRecord(1)])];
    await cluster.runtime.settle();
    sends.push(producer.send([ordersRecord(0, 'b')]));
    await cluster.runtime.advance(1_000);
    await Promise.all(sends);
    expect(cluster.identitiesAsked).toBe(3);
    expect(stamps(cluster)).toEqual(['p0 id9 e0 s0', 'p1 id9 e0 s0']);
    expect(cluster.log('orders', 0)).toEqual(['a', 'b']);
    await producer.close();
  });

  it('fails the record at the deadline as not written if no broker responds', async () => {
    const { cluster } = checkedCluster();
    cluster.identityScript = () => ({ code: 15 });
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([ordersRecord(0)], { timeoutMs: 3_000 }));
    await cluster.runtime.advance(3_000);
    const error = await sending;
    expect([states(error), error.retriable]).toEqual([['not-written'], true]);
    expect(error.message).toContain('Asking for a producer id');
    await cluster.runtime.advance(3_000);
    const asked = cluster.identitiesAsked;
    await cluster.runtime.advance(60_000);
    expect(cluster.identitiesAsked).toBe(asked);
    await producer.close();
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('fails the waiting records with advice if the broker forbids it, and is repeated by the next send', async () => {
    const { cluster } = checkedCluster();
    cluster.identityScript = (attempt) => (attempt === 1 ? { code: 31 } : {});
    const producer = producerOn(cluster);
    const error = await failureOf(producer.send([ordersRecord(0), ordersRecord(1)]));
    expect(states(error)).toEqual(['not-written', 'not-written']);
    expect(error.cause).toBeInstanceOf(AuthorizationError);
    expect(error.retriable).toBe(false);
    expect(error.message).toMatch(/IDEMPOTENT_WRITE on the cluster .* idempotent to false/);
    expect(cluster.produceRequests).toEqual([]);
    expect(await producer.send([ordersRecord(0)])).toMatchObject([{ offset: 0 }]);
    await producer.close();
  });

  it('does not delay the close of the producer', async () => {
    const { cluster } = checkedCluster();
    cluster.identityScript = () => ({ code: 15 });
    const producer = producerOn(cluster, { requestTimeoutMs: 500, deliveryTimeoutMs: 500 });
    const sending = failureOf(producer.send([ordersRecord(0)]));
    const closing = producer.close();
    await cluster.runtime.advance(500);
    await closing;
    expect(states(await sending)).toEqual(['not-written']);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('ends when the driver is closed', async () => {
    const { cluster } = checkedCluster();
    cluster.identityScript = () => ({ takesMs: 1_000 });
    const producer = producerOn(cluster);
    const sending = failureOf(producer.send([ordersRecord(0)]));
    await cluster.runtime.settle();
    cluster.close();
    expect(states(await sending)).toEqual(['not-written']);
    await producer.close();
  });
});
