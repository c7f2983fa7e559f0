import {
  AuthorizationError,
  ClosedError,
  FencedError,
  MalformedResponseError,
  OffsetMetadataTooLargeError,
  ProducerFencedError,
  RefusedError,
  RequestTimeoutError,
  TransactionCommittedError,
  TransactionOutcomeUnknownError,
  UnknownTopicError,
  type SendError,
} from '../../../port/errors.js';
import type { ProducerOptions, Transaction } from '../../../port/producer.js';
import type { TransactionProtocol } from '../../../wire/index.js';
import { KafkaProducer } from '../index.js';
import { loggerInto, states } from '../producer-under-test.spec-support.js';
import { TransactionalCluster, type Fate } from './transactional-cluster.spec-support.js';

const record = (value: string, partition = 0) => ({ topic: 'orders', partition, value });
const owner = { groupId: 'g', memberId: 'me', generation: 1, groupInstanceId: 'static' };
const offsets = (offset: number) => ({
  ...owner,
  offsets: [{ topic: 'in', partition: 0, offset }],
});

const PROTOCOLS = ['v1', 'v2'] as const;

function setUp(options: ProducerOptions = {}, protocol: TransactionProtocol = 'v1') {
  const cluster = new TransactionalCluster(protocol);
  const producer = new KafkaProducer({
    cluster,
    producerId: 'p1',
    options: { transactionalId: 'tx', ...options },
    logger: loggerInto([]),
  });
  /** Advances the time, and returns the result of the promise. */
  const run = async <T>(promise: Promise<T>, ms = 5_000): Promise<T> => {
    promise.catch(() => undefined);
    await cluster.runtime.advance(ms);
    return promise;
  };
  const failing = (promise: Promise<unknown>, ms?: number): Promise<Error> =>
    run(promise, ms).then(
      () => Promise.reject(new Error('It was expected to fail, and did not.')),
      (error: Error) => error,
    );
  const begin = (): Promise<Transaction> => run(producer.transaction(), 200);
  /** Scripts the results of requests by API name, in order. The last result is repeated. */
  const fates = (given: Readonly<Record<string, readonly Fate[]>>): void => {
    const met = new Map<string, number>();
    cluster.fateOf = (name) => {
      const at = met.get(name) ?? 0;
      met.set(name, at + 1);
      return given[name]?.[Math.min(at, (given[name]?.length ?? 0) - 1)] ?? { kind: 'answered' };
    };
  };
  return { cluster, producer, run, failing, begin, fates };
}

const answered: Fate = { kind: 'answered' };
const lost: Fate = { kind: 'answer-lost' };
const neverCame: Fate = { kind: 'request-lost' };
const code = (number: number): Fate => ({ kind: 'code', code: number });

describe('transaction in protocol v1', () => {
  it('adds each partition and the group once, and keeps its epoch afterwards', async () => {
    const { cluster, producer, run, begin } = setUp();
    for (const offset of [1, 2]) {
      const transaction = await begin();
      await run(transaction.send([record('a', 0), record('b', 1)]));
      await run(transaction.send([record('c', 1)]));
      await run(transaction.sendOffsets(offsets(offset)));
      await run(transaction.commit());
    }
    const once = ['AddPartitionsToTxn e0', 'Produce', 'Produce', 'AddOffsetsToTxn e0'];
    const end = ['TxnOffsetCommit e0', 'EndTxn e0'];
    expect(cluster.requestLog).toEqual(['InitProducerId', ...once, ...end, ...once, ...end]);
    expect(cluster.coordinator.committed('orders/1')).toEqual(['b', 'c', 'b', 'c']);
    expect(cluster.coordinator.committedOffset).toBe(2);
    await producer.close();
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('sends no request if it is empty', async () => {
    const { cluster, producer, run, begin } = setUp();
    await run((await begin()).commit());
    await run((await begin()).abort());
    expect(cluster.requestLog).toEqual(['InitProducerId']);
    await producer.close();
  });

  it('waits until the previous transaction is completed', async () => {
    const { cluster, run, begin, fates } = setUp();
    fates({ AddPartitionsToTxn: [code(51), code(51), answered] });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(transaction.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
  });

  it.each([14, 15, 16])('finds its coordinator and retries after code %i', async (number) => {
    const { cluster, run, begin, fates } = setUp();
    fates(
      Object.fromEntries(
        [
          'InitProducerId',
          'AddPartitionsToTxn',
          'AddOffsetsToTxn',
          'TxnOffsetCommit',
          'EndTxn',
        ].map((name) => [name, [code(number), answered]]),
      ),
    );
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(transaction.sendOffsets(offsets(3)));
    await run(transaction.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
    expect(cluster.coordinator.committedOffset).toBe(3);
  });
});

it('FindCoordinator updates the address of a coordinator that was restarted elsewhere', async () => {
  const { cluster, begin } = setUp();
  const before = { id: 7, host: 'before', port: 9, rack: null };
  cluster.metadata.update({ brokers: [before], clusterId: null, controllerId: 7, topics: [] });
  await begin();
  expect(cluster.metadata.brokers.get(7)).toMatchObject({ host: 'node', port: 1 });
});

describe.each(PROTOCOLS)(
  'batch of a transaction that is too large for the broker (%s)',
  (protocol) => {
    it('is split under the same sequence numbers, and the epoch is kept', async () => {
      const { cluster, run, begin, fates } = setUp({}, protocol);
      const transaction = await begin();
      await run(transaction.send([record('a')]));
      fates({ Produce: [code(10), answered] });
      await run(transaction.send([record('b'), record('c'), record('d')]));
      await run(transaction.commit());
      expect(cluster.coordinator.committed('orders/0')).toEqual(['a', 'b', 'c', 'd']);
      await begin();
      expect(cluster.coordinator.epoch).toBe(protocol === 'v2' ? 1 : 0);
    });
  },
);

describe('producer epoch in protocol v1', () => {
  it.each(['AddPartitionsToTxn', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn'])(
    'is renewed after a repeated %s, because the first request may arrive in the next transaction',
    async (name) => {
      const { cluster, run, begin, fates } = setUp();
      fates({ [name]: [lost, answered] });
      const transaction = await begin();
      await run(transaction.send([record('a')]));
      await run(transaction.sendOffsets(offsets(1)));
      await run(transaction.commit());
      await begin();
      expect(cluster.coordinator.epoch).toBe(1);
      expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
    },
  );

  it('is renewed after a failed send, and the sequence restarts at 0', async () => {
    const { cluster, run, failing, begin, fates } = setUp();
    fates({ Produce: [answered, code(32), answered] });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    expect(states((await failing(transaction.send([record('b')]))) as SendError)).toEqual([
      'not-written',
    ]);
    await run(transaction.abort());
    const next = await begin();
    await run(next.send([record('c')]));
    await run(next.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['c']);
    expect(cluster.coordinator.epoch).toBe(1);
  });

  it('is kept over a retry of records, which sequence numbers protect', async () => {
    const { cluster, run, begin, fates } = setUp();
    fates({ Produce: [lost, answered] });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(transaction.commit());
    await begin();
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
    expect(cluster.coordinator.epoch).toBe(0);
  });

  it('is renewed only after the open transaction was aborted, because InitProducerId would fence the producer itself', async () => {
    const { cluster, run, failing, begin, fates } = setUp({ deliveryTimeoutMs: 1_000 });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [neverCame] });
    expect(await failing(transaction.abort())).toMatchObject({ retriable: true });
    expect(cluster.coordinator.isOpen).toBe(true);
    fates({});
    await begin();
    expect(cluster.requestLog.slice(-2)).toEqual(['EndTxn e0', 'InitProducerId e0']);
    expect(cluster.coordinator.isOpen).toBe(false);
  });
});

describe.each(PROTOCOLS)(
  'producer whose transactional id the coordinator has forgotten (%s)',
  (protocol) => {
    it('starts again with InitProducerId, because no transaction can be open', async () => {
      const { cluster, run, failing, begin, fates } = setUp({}, protocol);
      const first = await begin();
      await run(first.send([record('a')]));
      await run(first.commit());
      fates({ AddPartitionsToTxn: [code(49)], Produce: [code(49)], EndTxn: [code(49)] });
      const second = await begin();
      await failing(second.send([record('b')]));
      await failing(second.abort());
      const third = await begin();
      fates({});
      await run(third.send([record('c')]));
      await run(third.commit());
      expect(cluster.coordinator.committed('orders/0')).toEqual(['a', 'c']);
    });
  },
);

describe.each(PROTOCOLS)('commit of a transaction (%s)', (protocol) => {
  it.each([
    ['had come through', lost, TransactionCommittedError],
    ['had not arrived', neverCame, undefined],
  ])(
    'rejects as unknown without a response; the abort finds out that the commit %s',
    async (_, fate, found) => {
      const { cluster, run, failing, begin, fates } = setUp({ deliveryTimeoutMs: 1_000 }, protocol);
      const transaction = await begin();
      await run(transaction.send([record('a')]));
      fates({ EndTxn: [fate] });
      expect(await failing(transaction.commit())).toBeInstanceOf(TransactionOutcomeUnknownError);
      fates({});
      if (found) expect(await failing(transaction.abort())).toBeInstanceOf(found);
      else await run(transaction.abort());
      expect(cluster.coordinator.committed('orders/0')).toEqual(found ? ['a'] : []);
      const next = await begin();
      await run(next.send([record('b')]));
      await run(next.commit());
      expect(cluster.coordinator.committed('orders/0')).toEqual(found ? ['a', 'b'] : ['b']);
    },
  );

  it('does not treat code -1 as success', async () => {
    const { failing, run, begin, fates } = setUp({ deliveryTimeoutMs: 1_000 }, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [code(-1)] });
    expect(await failing(transaction.commit())).toBeInstanceOf(TransactionOutcomeUnknownError);
  });

  it('rejects with the error if it was refused, and the transaction can be aborted', async () => {
    const { cluster, failing, run, begin, fates } = setUp({}, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [code(53), answered] });
    expect(await failing(transaction.commit())).toBeInstanceOf(AuthorizationError);
    await run(transaction.abort());
    expect(cluster.coordinator.committed('orders/0')).toEqual([]);
  });

  it('stays unknown if the producer is fenced after an attempt without a response', async () => {
    const { cluster, failing, run, begin, fates } = setUp({}, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [lost, code(90)] });
    expect(await failing(transaction.commit())).toBeInstanceOf(TransactionOutcomeUnknownError);
    expect(await failing(transaction.abort())).toBeInstanceOf(TransactionOutcomeUnknownError);
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
  });
});

describe('fenced producer', () => {
  it.each(['AddPartitionsToTxn', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn'])(
    'learns of it from %s, and never takes the transactional id back',
    async (name) => {
      const { cluster, failing, run, begin, producer, fates } = setUp();
      const transaction = await begin();
      if (name === 'EndTxn') await run(transaction.send([record('a')]));
      if (name === 'TxnOffsetCommit') fates({ TxnOffsetCommit: [code(47)] });
      else cluster.coordinator.fence();
      const failure = await failing(
        name === 'EndTxn'
          ? transaction.commit()
          : name === 'AddPartitionsToTxn'
            ? transaction.send([record('b')])
            : transaction.sendOffsets(offsets(1)),
      );
      const fenced = name === 'AddPartitionsToTxn' ? failure.cause : failure;
      expect(fenced).toBeInstanceOf(ProducerFencedError);
      cluster.coordinator.fence();
      await run(transaction.abort());
      const asked = cluster.received.length;
      expect(await failing(producer.transaction())).toBeInstanceOf(ProducerFencedError);
      expect(await failing(producer.transaction())).toBeInstanceOf(ProducerFencedError);
      const inits = cluster.received.slice(asked).filter((each) => each.name === 'InitProducerId');
      // Without a refused EndTxn the producer asks once more with its old epoch, which fences
      // nobody.
      expect(inits.every(({ epoch }) => epoch === 0)).toBe(true);
    },
  );

  it('learns of it from Produce, and the records are not written', async () => {
    const { cluster, failing, run, begin } = setUp();
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    cluster.coordinator.fence();
    const error = (await failing(transaction.send([record('b')]))) as SendError;
    expect([states(error), error.cause]).toEqual([
      ['not-written'],
      expect.any(ProducerFencedError),
    ]);
    await run(transaction.abort());
    expect(cluster.coordinator.committed('orders/0')).toEqual([]);
  });
});

describe('refusal of a coordinator', () => {
  it.each([
    [22, FencedError],
    [25, FencedError],
    [27, FencedError],
    [82, FencedError],
    [110, FencedError],
    [113, FencedError],
    [47, ProducerFencedError],
    [90, ProducerFencedError],
    [12, OffsetMetadataTooLargeError],
    [3, UnknownTopicError],
    [48, RefusedError],
    [120, RefusedError],
    [30, AuthorizationError],
  ])('rejects sendOffsets at once with a typed error, code %i', async (number, kind) => {
    const { failing, begin, fates, producer } = setUp();
    fates({ TxnOffsetCommit: [code(number)] });
    const transaction = await begin();
    const error = await failing(transaction.sendOffsets(offsets(1)), 100);
    expect(error).toBeInstanceOf(kind);
    expect(await failing(transaction.commit(), 0)).toBeInstanceOf(RefusedError);
    await producer.close();
  });

  it('fails the records of a refused partition', async () => {
    const { failing, begin, fates } = setUp();
    fates({ AddPartitionsToTxn: [code(29)] });
    const transaction = await begin();
    const error = (await failing(transaction.send([record('a')]))) as SendError;
    expect([states(error), error.cause]).toEqual([['not-written'], expect.any(AuthorizationError)]);
  });

  it('rejects transaction() with advice if the id or its timeout is refused', async () => {
    const { failing, producer, fates } = setUp();
    fates({ InitProducerId: [code(53), code(50), answered] });
    expect(await failing(producer.transaction())).toBeInstanceOf(AuthorizationError);
    expect((await failing(producer.transaction())).message).toMatch(/transaction.max.timeout.ms/);
  });
});

describe.each(PROTOCOLS)('TxnOffsetCommit response without all partitions (%s)', (protocol) => {
  it('rejects sendOffsets, and the transaction can only be aborted', async () => {
    const { cluster, failing, run, begin, fates } = setUp({}, protocol);
    const transaction = await begin();
    const both = [0, 1].map((partition) => ({ topic: 'in', partition, offset: 1 }));
    // The response contains only the first partition.
    fates({ TxnOffsetCommit: [code(0)] });
    const error = await failing(transaction.sendOffsets({ ...owner, offsets: both }), 100);
    expect(error).toBeInstanceOf(MalformedResponseError);
    expect(error.message).toContain('says nothing of in/1,');
    expect(await failing(transaction.commit(), 0)).toBeInstanceOf(RefusedError);
    await run(transaction.abort());
    expect(cluster.coordinator.committedOffset).toBeUndefined();
  });
});

describe.each(PROTOCOLS)('abort of a transaction (%s)', (protocol) => {
  it('abandons records that are not sent, without waiting for them', async () => {
    const { cluster, failing, run, begin, fates } = setUp({}, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ Produce: [code(19)] });
    const sending = failing(transaction.send([record('b')]), 100);
    await run(transaction.abort(), 2_000);
    expect(states((await sending) as SendError)).toEqual(['not-written']);
    expect(cluster.coordinator.isOpen).toBe(false);
  });

  it('stops adding a partition or a group', async () => {
    const { failing, run, begin, fates } = setUp({}, protocol);
    const transaction = await begin();
    fates({ AddPartitionsToTxn: [code(51)], AddOffsetsToTxn: [code(51)] });
    const steps = [
      failing(transaction.send([record('a')]), 100),
      failing(transaction.sendOffsets(offsets(1)), 100),
    ];
    await run(transaction.abort(), 2_000);
    await Promise.all(steps);
  });
});

describe.each(PROTOCOLS)('records with an unknown result in a transaction (%s)', (protocol) => {
  it('block their partition, and the transaction can only be aborted', async () => {
    const { cluster, failing, run, begin, fates } = setUp(
      { deliveryTimeoutMs: 1_000, requestTimeoutMs: 300 },
      protocol,
    );
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ Produce: [lost] });
    const first = failing(transaction.send([record('b')]));
    await cluster.runtime.advance(500);
    const second = failing(transaction.send([record('c')]));
    await cluster.runtime.advance(3_000);
    expect(states((await first) as SendError)).toEqual(['unknown']);
    expect(states((await second) as SendError)).toEqual(['not-written']);
    fates({});
    expect(await failing(transaction.commit())).toBeInstanceOf(RefusedError);
    await run(transaction.abort());
    const next = await begin();
    await run(next.send([record('d')]));
    await run(next.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['d']);
  });
});

describe.each(PROTOCOLS)('closing a transactional producer (%s)', (protocol) => {
  it('aborts the open transaction', async () => {
    const { cluster, producer, run, begin } = setUp({}, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(producer.close());
    expect(cluster.coordinator.isOpen).toBe(false);
    await expect(transaction.commit()).rejects.toBeInstanceOf(RefusedError);
    await expect(producer.transaction()).rejects.toBeInstanceOf(ClosedError);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('is bounded if no coordinator responds', async () => {
    const { cluster, producer, run, begin, fates } = setUp({}, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [neverCame] });
    await run(producer.close(), 30_000);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('rejects a transaction that is about to begin', async () => {
    const { cluster, producer, run, failing, fates } = setUp({}, protocol);
    fates({ InitProducerId: [code(51)] });
    const beginning = failing(producer.transaction(), 100);
    await run(producer.close(), 100);
    expect(await beginning).toBeInstanceOf(ClosedError);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('leaves the producer usable after a begin that found no coordinator in time', async () => {
    const { producer, failing, fates } = setUp({ deliveryTimeoutMs: 2_000 }, protocol);
    fates({ InitProducerId: [code(15)] });
    expect(await failing(producer.transaction())).not.toBeInstanceOf(RequestTimeoutError);
    fates({});
    await expect(producer.transaction()).resolves.toBeDefined();
  });
});

describe('transaction in protocol v2', () => {
  const implied = (options: ProducerOptions = {}) => setUp(options, 'v2');

  it('adds nothing, and gets its epoch from the end of the previous transaction', async () => {
    const { cluster, producer, run, begin } = implied();
    for (const [offset, end] of (['commit', 'abort', 'commit'] as const).entries()) {
      const transaction = await begin();
      await run(transaction.send([record('a', 0), record(end, 1)]));
      await run(transaction.sendOffsets(offsets(offset)));
      await run(transaction[end]());
    }
    const steps = (epoch: number) => ['Produce', `TxnOffsetCommit e${epoch}`, `EndTxn e${epoch}`];
    expect(cluster.requestLog).toEqual(['InitProducerId', ...steps(0), ...steps(1), ...steps(2)]);
    expect(cluster.coordinator.committed('orders/1')).toEqual(['commit', 'commit']);
    expect(cluster.coordinator.committedOffset).toBe(2);
    await producer.close();
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('sends no request if it is empty', async () => {
    const { cluster, run, begin } = implied();
    await run((await begin()).commit());
    await run((await begin()).abort());
    expect(cluster.requestLog).toEqual(['InitProducerId']);
  });

  it.each([51, 14, 15, 16])('retries after code %i', async (number) => {
    const { cluster, run, begin, fates } = implied();
    fates(
      Object.fromEntries(
        ['Produce', 'TxnOffsetCommit', 'EndTxn'].map((name) => [name, [code(number), answered]]),
      ),
    );
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(transaction.sendOffsets(offsets(3)));
    await run(transaction.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
    expect(cluster.coordinator.committedOffset).toBe(3);
  });

  it.each(['Produce', 'TxnOffsetCommit', 'EndTxn'])(
    'repeats %s without a new InitProducerId',
    async (name) => {
      const { cluster, run, begin, fates } = implied();
      fates({ [name]: [lost, answered] });
      for (const offset of [1, 2]) {
        const transaction = await begin();
        await run(transaction.send([record('a')]));
        await run(transaction.sendOffsets(offsets(offset)));
        await run(transaction.commit());
      }
      expect(cluster.coordinator.committed('orders/0')).toEqual(['a', 'a']);
      expect(cluster.coordinator.epoch).toBe(2);
      expect(cluster.requestLog.filter((each) => each.startsWith('InitProducerId'))).toHaveLength(
        1,
      );
    },
  );

  it('continues in the epoch of the abort after a failed send', async () => {
    const { cluster, run, failing, begin, fates } = implied();
    fates({ Produce: [answered, code(32), answered] });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await failing(transaction.send([record('b')]));
    await run(transaction.abort());
    const next = await begin();
    await run(next.send([record('c')]));
    await run(next.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['c']);
    expect(cluster.requestLog.filter((each) => each.startsWith('InitProducerId'))).toHaveLength(1);
  });

  it('calls InitProducerId if the response to EndTxn has no epoch', async () => {
    const { cluster, run, begin } = implied();
    cluster.coordinator.returnsNewEpoch = false;
    for (const value of ['a', 'b']) {
      const transaction = await begin();
      await run(transaction.send([record(value)]));
      await run(transaction.commit());
    }
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a', 'b']);
    const asked = cluster.requestLog.filter((each) => each.startsWith('InitProducerId'));
    expect(asked).toEqual(['InitProducerId', 'InitProducerId e0']);
  });

  it('aborts what a failed abort may have left open before the next one begins', async () => {
    const { cluster, run, failing, begin, fates } = implied({ deliveryTimeoutMs: 1_000 });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [neverCame] });
    expect(await failing(transaction.abort())).toMatchObject({ retriable: true });
    fates({});
    const next = await begin();
    expect(cluster.requestLog.at(-1)).toBe('EndTxn e0');
    expect(cluster.coordinator.isOpen).toBe(false);
    await run(next.send([record('b')]));
    await run(next.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['b']);
  });

  it.each([
    ['Produce', 'send'],
    ['TxnOffsetCommit', 'sendOffsets'],
    ['EndTxn', 'commit'],
  ])('can only be aborted after TRANSACTION_ABORTABLE from %s', async (name, step) => {
    const { cluster, run, failing, begin, fates } = implied();
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ [name]: [code(120), answered] });
    await failing(
      step === 'send'
        ? transaction.send([record('b')])
        : step === 'sendOffsets'
          ? transaction.sendOffsets(offsets(1))
          : transaction.commit(),
    );
    expect((await failing(transaction.commit())).message).toMatch(/Abort it/);
    await run(transaction.abort());
    const next = await begin();
    await run(next.send([record('c')]));
    await run(next.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['c']);
  });

  it.each(['send', 'sendOffsets', 'commit'] as const)(
    'rejects with ProducerFencedError after another producer took over the id: %s',
    async (step) => {
      const { cluster, run, failing, begin, producer } = implied();
      const transaction = await begin();
      await run(transaction.send([record('a')]));
      cluster.coordinator.fence();
      // The other producer has begun a transaction in the next epoch.
      cluster.coordinator.fence();
      const failure = await failing(
        step === 'send'
          ? transaction.send([record('b')])
          : step === 'sendOffsets'
            ? transaction.sendOffsets(offsets(1))
            : transaction.commit(),
      );
      expect(step === 'send' ? failure.cause : failure).toBeInstanceOf(ProducerFencedError);
      await run(transaction.abort());
      expect(await failing(producer.transaction())).toBeInstanceOf(ProducerFencedError);
      expect(cluster.coordinator.committed('orders/0')).toEqual([]);
      expect(cluster.requestLog.filter((each) => each.startsWith('InitProducerId'))).toHaveLength(
        1,
      );
    },
  );

  it('rejects its commit with ProducerFencedError after the transaction timeout', async () => {
    const { cluster, run, failing, begin, producer } = implied();
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    cluster.coordinator.fence();
    expect(await failing(transaction.commit())).toBeInstanceOf(ProducerFencedError);
    await run(transaction.abort());
    expect(await failing(producer.transaction())).toBeInstanceOf(ProducerFencedError);
    expect(cluster.coordinator.committed('orders/0')).toEqual([]);
  });

  it('starts between two transactions, in a new epoch, once the cluster has finalized v2', async () => {
    const { cluster, run, begin } = setUp();
    const one = async (value: string): Promise<void> => {
      const transaction = await begin();
      await run(transaction.send([record(value)]));
      await run(transaction.commit());
    };
    await one('a');
    cluster.upgrade();
    await one('b');
    await one('c');
    expect(cluster.requestLog).toEqual([
      ...['InitProducerId', 'AddPartitionsToTxn e0', 'Produce', 'EndTxn e0'],
      ...['InitProducerId e0', 'Produce', 'EndTxn e1', 'Produce', 'EndTxn e2'],
    ]);
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a', 'b', 'c']);
  });
});
