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
import type { TransactionFlow } from '../../../wire/index.js';
import { KafkajsProducer } from '../index.js';
import { loggerInto, states } from '../producer-on.spec-support.js';
import { TransactionalCluster, type Fate } from './transactional-cluster.spec-support.js';

const record = (value: string, partition = 0) => ({ topic: 'orders', partition, value });
const owner = { groupId: 'g', memberId: 'me', generation: 1, groupInstanceId: 'static' };
const offsets = (offset: number) => ({
  ...owner,
  offsets: [{ topic: 'in', partition: 0, offset }],
});

const FLOWS = ['announced', 'implied'] as const;

function setUp(options: ProducerOptions = {}, flow: TransactionFlow = 'announced') {
  const cluster = new TransactionalCluster(flow);
  const producer = new KafkajsProducer({
    cluster,
    producerId: 'p1',
    options: { transactionalId: 'tx', ...options },
    logger: loggerInto([]),
  });
  /** The result of the promise, or what it rejects with, once that is known. */
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
  /** Fates by the name of the request, in order; the last one stays. */
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

describe('the course of a transaction', () => {
  it('adds each partition and the group once, and goes on in its epoch after it', async () => {
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
    expect(cluster.story).toEqual(['InitProducerId', ...once, ...end, ...once, ...end]);
    expect(cluster.coordinator.committed('orders/1')).toEqual(['b', 'c', 'b', 'c']);
    expect(cluster.coordinator.committedOffset).toBe(2);
    await producer.close();
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('asks the brokers for nothing where it is empty', async () => {
    const { cluster, producer, run, begin } = setUp();
    await run((await begin()).commit());
    await run((await begin()).abort());
    expect(cluster.story).toEqual(['InitProducerId']);
    await producer.close();
  });

  it('waits for the transaction before it to be completed', async () => {
    const { cluster, run, begin, fates } = setUp();
    fates({ AddPartitionsToTxn: [code(51), code(51), answered] });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(transaction.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
  });

  it.each([14, 15, 16])(
    'looks for its coordinator, and asks again after code %i',
    async (number) => {
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
    },
  );
});

it('a coordinator is known at the address that the search for it tells: it may be back at another one', async () => {
  const { cluster, begin } = setUp();
  const before = { id: 7, host: 'before', port: 9, rack: null };
  cluster.metadata.learn({ brokers: [before], clusterId: null, controllerId: 7, topics: [] });
  await begin();
  expect(cluster.metadata.brokers.get(7)).toMatchObject({ host: 'node', port: 1 });
});

describe.each(FLOWS)('a batch that is too large for the broker (%s)', (flow) => {
  it('is sent in pieces under the same numbers, and the epoch is kept', async () => {
    const { cluster, run, begin, fates } = setUp({}, flow);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ Produce: [code(10), answered] });
    await run(transaction.send([record('b'), record('c'), record('d')]));
    await run(transaction.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a', 'b', 'c', 'd']);
    await begin();
    expect(cluster.coordinator.epoch).toBe(flow === 'implied' ? 1 : 0);
  });
});

describe('the epoch of a producer', () => {
  it.each(['AddPartitionsToTxn', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn'])(
    'is left when %s was asked twice: the first may arrive in the next transaction',
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

  it('is left when a send failed, and its successor counts from 0', async () => {
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

  it('is kept over a retry of records, which their numbers protect', async () => {
    const { cluster, run, begin, fates } = setUp();
    fates({ Produce: [lost, answered] });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(transaction.commit());
    await begin();
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
    expect(cluster.coordinator.epoch).toBe(0);
  });

  it('ends what may be open before it is renewed, since renewal would fence the producer itself', async () => {
    const { cluster, run, failing, begin, fates } = setUp({ deliveryTimeoutMs: 1_000 });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [neverCame] });
    expect(await failing(transaction.abort())).toMatchObject({ retriable: true });
    expect(cluster.coordinator.isOpen).toBe(true);
    fates({});
    await begin();
    expect(cluster.story.slice(-2)).toEqual(['EndTxn e0', 'InitProducerId e0']);
    expect(cluster.coordinator.isOpen).toBe(false);
  });
});

describe.each(FLOWS)('a producer whose id the coordinator has forgotten (%s)', (flow) => {
  it('begins anew: nothing of it can be open', async () => {
    const { cluster, run, failing, begin, fates } = setUp({}, flow);
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
});

describe.each(FLOWS)('a commit (%s)', (flow) => {
  it.each([
    ['had come through', lost, TransactionCommittedError],
    ['had not arrived', neverCame, undefined],
  ])(
    'of which no answer tells is unknown; its abort finds out that it %s',
    async (_, fate, found) => {
      const { cluster, run, failing, begin, fates } = setUp({ deliveryTimeoutMs: 1_000 }, flow);
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

  it('answered -1 is not taken for done', async () => {
    const { failing, run, begin, fates } = setUp({ deliveryTimeoutMs: 1_000 }, flow);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [code(-1)] });
    expect(await failing(transaction.commit())).toBeInstanceOf(TransactionOutcomeUnknownError);
  });

  it('that was refused is no unknown one, and can be aborted', async () => {
    const { cluster, failing, run, begin, fates } = setUp({}, flow);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [code(53), answered] });
    expect(await failing(transaction.commit())).toBeInstanceOf(AuthorizationError);
    await run(transaction.abort());
    expect(cluster.coordinator.committed('orders/0')).toEqual([]);
  });

  it('of a producer that was fenced after an unanswered attempt is unknown for good', async () => {
    const { cluster, failing, run, begin, fates } = setUp({}, flow);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [lost, code(90)] });
    expect(await failing(transaction.commit())).toBeInstanceOf(TransactionOutcomeUnknownError);
    expect(await failing(transaction.abort())).toBeInstanceOf(TransactionOutcomeUnknownError);
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
  });
});

describe('a producer whose id another one has taken', () => {
  it.each(['AddPartitionsToTxn', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn'])(
    'hears of it by %s, and never asks for the id again',
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
      const asked = cluster.asked.length;
      expect(await failing(producer.transaction())).toBeInstanceOf(ProducerFencedError);
      expect(await failing(producer.transaction())).toBeInstanceOf(ProducerFencedError);
      const inits = cluster.asked.slice(asked).filter((each) => each.name === 'InitProducerId');
      // Without an end that was refused it asks once more, by its old name: that takes nothing from anybody.
      expect(inits.every(({ epoch }) => epoch === 0)).toBe(true);
    },
  );

  it('hears of it by its records, which are not written', async () => {
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

describe('what a coordinator refuses', () => {
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
  ])('code %i for offsets is told as it is, at once', async (number, kind) => {
    const { failing, begin, fates, producer } = setUp();
    fates({ TxnOffsetCommit: [code(number)] });
    const transaction = await begin();
    const error = await failing(transaction.sendOffsets(offsets(1)), 100);
    expect(error).toBeInstanceOf(kind);
    expect(await failing(transaction.commit(), 0)).toBeInstanceOf(RefusedError);
    await producer.close();
  });

  it('a partition fails the records for it', async () => {
    const { failing, begin, fates } = setUp();
    fates({ AddPartitionsToTxn: [code(29)] });
    const transaction = await begin();
    const error = (await failing(transaction.send([record('a')]))) as SendError;
    expect([states(error), error.cause]).toEqual([['not-written'], expect.any(AuthorizationError)]);
  });

  it('a transactional id, or its time-out, fails the beginning, with advice', async () => {
    const { failing, producer, fates } = setUp();
    fates({ InitProducerId: [code(53), code(50), answered] });
    expect(await failing(producer.transaction())).toBeInstanceOf(AuthorizationError);
    expect((await failing(producer.transaction())).message).toMatch(/transaction.max.timeout.ms/);
  });
});

describe.each(FLOWS)('an answer that leaves offsets out (%s)', (flow) => {
  it('promises nothing of them: the transaction can only be aborted', async () => {
    const { cluster, failing, run, begin, fates } = setUp({}, flow);
    const transaction = await begin();
    const both = [0, 1].map((partition) => ({ topic: 'in', partition, offset: 1 }));
    // It says of the first that it was taken, and no more.
    fates({ TxnOffsetCommit: [code(0)] });
    const error = await failing(transaction.sendOffsets({ ...owner, offsets: both }), 100);
    expect(error).toBeInstanceOf(MalformedResponseError);
    expect(error.message).toContain('says nothing of in/1,');
    expect(await failing(transaction.commit(), 0)).toBeInstanceOf(RefusedError);
    await run(transaction.abort());
    expect(cluster.coordinator.committedOffset).toBeUndefined();
  });
});

describe.each(FLOWS)('an abort (%s)', (flow) => {
  it('gives up what has not left, and does not wait for it', async () => {
    const { cluster, failing, run, begin, fates } = setUp({}, flow);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ Produce: [code(19)] });
    const sending = failing(transaction.send([record('b')]), 100);
    await run(transaction.abort(), 2_000);
    expect(states((await sending) as SendError)).toEqual(['not-written']);
    expect(cluster.coordinator.isOpen).toBe(false);
  });

  it('gives up asking for a partition or a group', async () => {
    const { failing, run, begin, fates } = setUp({}, flow);
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

describe.each(FLOWS)('records of unknown fate (%s)', (flow) => {
  it('let nothing follow them in their partition, and the transaction can only be aborted', async () => {
    const { cluster, failing, run, begin, fates } = setUp(
      { deliveryTimeoutMs: 1_000, requestTimeoutMs: 300 },
      flow,
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

describe.each(FLOWS)('closing the producer (%s)', (flow) => {
  it('aborts what is open', async () => {
    const { cluster, producer, run, begin } = setUp({}, flow);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(producer.close());
    expect(cluster.coordinator.isOpen).toBe(false);
    await expect(transaction.commit()).rejects.toBeInstanceOf(RefusedError);
    await expect(producer.transaction()).rejects.toBeInstanceOf(ClosedError);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('is bounded where nothing answers', async () => {
    const { cluster, producer, run, begin, fates } = setUp({}, flow);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [neverCame] });
    await run(producer.close(), 30_000);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('ends a transaction that is just beginning', async () => {
    const { cluster, producer, run, failing, fates } = setUp({}, flow);
    fates({ InitProducerId: [code(51)] });
    const beginning = failing(producer.transaction(), 100);
    await run(producer.close(), 100);
    expect(await beginning).toBeInstanceOf(ClosedError);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('a beginning that finds no coordinator ends with its time', async () => {
    const { producer, failing, fates } = setUp({ deliveryTimeoutMs: 2_000 }, flow);
    fates({ InitProducerId: [code(15)] });
    expect(await failing(producer.transaction())).not.toBeInstanceOf(RequestTimeoutError);
    fates({});
    await expect(producer.transaction()).resolves.toBeDefined();
  });
});

describe('the course of a transaction whose partitions and groups are implied', () => {
  const implied = (options: ProducerOptions = {}) => setUp(options, 'implied');

  it('adds nothing, and each has an epoch of its own that the end before it told', async () => {
    const { cluster, producer, run, begin } = implied();
    for (const [offset, end] of (['commit', 'abort', 'commit'] as const).entries()) {
      const transaction = await begin();
      await run(transaction.send([record('a', 0), record(end, 1)]));
      await run(transaction.sendOffsets(offsets(offset)));
      await run(transaction[end]());
    }
    const steps = (epoch: number) => ['Produce', `TxnOffsetCommit e${epoch}`, `EndTxn e${epoch}`];
    expect(cluster.story).toEqual(['InitProducerId', ...steps(0), ...steps(1), ...steps(2)]);
    expect(cluster.coordinator.committed('orders/1')).toEqual(['commit', 'commit']);
    expect(cluster.coordinator.committedOffset).toBe(2);
    await producer.close();
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('asks the brokers for nothing where it is empty', async () => {
    const { cluster, run, begin } = implied();
    await run((await begin()).commit());
    await run((await begin()).abort());
    expect(cluster.story).toEqual(['InitProducerId']);
  });

  it.each([51, 14, 15, 16])('waits for its coordinators after code %i', async (number) => {
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
    'asks %s again as it was, and needs no other epoch than the next one',
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
      expect(cluster.story.filter((each) => each.startsWith('InitProducerId'))).toHaveLength(1);
    },
  );

  it('goes on in the epoch of its abort when a send failed', async () => {
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
    expect(cluster.story.filter((each) => each.startsWith('InitProducerId'))).toHaveLength(1);
  });

  it('asks for its identity where the end does not tell it', async () => {
    const { cluster, run, begin } = implied();
    cluster.coordinator.tellsSuccessor = false;
    for (const value of ['a', 'b']) {
      const transaction = await begin();
      await run(transaction.send([record(value)]));
      await run(transaction.commit());
    }
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a', 'b']);
    const asked = cluster.story.filter((each) => each.startsWith('InitProducerId'));
    expect(asked).toEqual(['InitProducerId', 'InitProducerId e0']);
  });

  it('ends what its abort may have left open before another begins', async () => {
    const { cluster, run, failing, begin, fates } = implied({ deliveryTimeoutMs: 1_000 });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    fates({ EndTxn: [neverCame] });
    expect(await failing(transaction.abort())).toMatchObject({ retriable: true });
    fates({});
    const next = await begin();
    expect(cluster.story.at(-1)).toBe('EndTxn e0');
    expect(cluster.coordinator.isOpen).toBe(false);
    await run(next.send([record('b')]));
    await run(next.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['b']);
  });

  it.each([
    ['Produce', 'send'],
    ['TxnOffsetCommit', 'sendOffsets'],
    ['EndTxn', 'commit'],
  ])('can only be aborted once %s says so (TRANSACTION_ABORTABLE)', async (name, step) => {
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
    'is over for a producer whose id another one has taken: %s tells',
    async (step) => {
      const { cluster, run, failing, begin, producer } = implied();
      const transaction = await begin();
      await run(transaction.send([record('a')]));
      cluster.coordinator.fence();
      // The other one has begun where this one left off.
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
      expect(cluster.story.filter((each) => each.startsWith('InitProducerId'))).toHaveLength(1);
    },
  );

  it('is over for a producer whose transaction was open for too long: its commit tells', async () => {
    const { cluster, run, failing, begin, producer } = implied();
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    cluster.coordinator.fence();
    expect(await failing(transaction.commit())).toBeInstanceOf(ProducerFencedError);
    await run(transaction.abort());
    expect(await failing(producer.transaction())).toBeInstanceOf(ProducerFencedError);
    expect(cluster.coordinator.committed('orders/0')).toEqual([]);
  });

  it('begins once the cluster has finalized it: between two transactions, in a new epoch', async () => {
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
    expect(cluster.story).toEqual([
      ...['InitProducerId', 'AddPartitionsToTxn e0', 'Produce', 'EndTxn e0'],
      ...['InitProducerId e0', 'Produce', 'EndTxn e1', 'Produce', 'EndTxn e2'],
    ]);
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a', 'b', 'c']);
  });
});
