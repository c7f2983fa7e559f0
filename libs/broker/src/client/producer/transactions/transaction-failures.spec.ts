import {
  AuthorizationError,
  FencedError,
  MalformedResponseError,
  OffsetMetadataTooLargeError,
  ProducerFencedError,
  RefusedError,
  TransactionCommittedError,
  TransactionOutcomeUnknownError,
  UnknownTopicError,
  type SendError,
} from '../../../port/errors.js';
import { states } from '../producer-under-test.spec-support.js';
import {
  groupMember,
  record,
  offsets,
  PROTOCOLS,
  setUpTransactions,
  answered,
  responseLost,
  requestLost,
  refusedWith,
} from './transactional-producer.spec-support.js';

describe.each(PROTOCOLS)('commit of a transaction (%s)', (protocol) => {
  it.each([
    ['was carried out', responseLost, TransactionCommittedError],
    ['never arrived', requestLost, undefined],
  ])(
    'rejects as unknown if no response arrives, and the abort finds out that the commit %s',
    async (_, result, found) => {
      const { cluster, run, failing, begin, script } = setUpTransactions(
        { deliveryTimeoutMs: 1_000 },
        protocol,
      );
      const transaction = await begin();
      await run(transaction.send([record('a')]));
      script({ EndTxn: [result] });
      expect(await failing(transaction.commit())).toBeInstanceOf(TransactionOutcomeUnknownError);
      script({});
      if (found) expect(await failing(transaction.abort())).toBeInstanceOf(found);
      else await run(transaction.abort());
      expect(cluster.coordinator.committed('orders/0')).toEqual(found ? ['a'] : []);
      const next = await begin();
      await run(next.send([record('b')]));
      await run(next.commit());
      expect(cluster.coordinator.committed('orders/0')).toEqual(found ? ['a', 'b'] : ['b']);
    },
  );

  it('treats code -1 as an error, not as success', async () => {
    const { failing, run, begin, script } = setUpTransactions(
      { deliveryTimeoutMs: 1_000 },
      protocol,
    );
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    script({ EndTxn: [refusedWith(-1)] });
    expect(await failing(transaction.commit())).toBeInstanceOf(TransactionOutcomeUnknownError);
  });

  it('rejects if the coordinator refuses it, and the transaction can be aborted', async () => {
    const { cluster, failing, run, begin, script } = setUpTransactions({}, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    script({ EndTxn: [refusedWith(53), answered] });
    expect(await failing(transaction.commit())).toBeInstanceOf(AuthorizationError);
    await run(transaction.abort());
    expect(cluster.coordinator.committed('orders/0')).toEqual([]);
  });

  it('stays unknown if the producer is fenced after an attempt that got no response', async () => {
    const { cluster, failing, run, begin, script } = setUpTransactions({}, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    script({ EndTxn: [responseLost, refusedWith(90)] });
    expect(await failing(transaction.commit())).toBeInstanceOf(TransactionOutcomeUnknownError);
    expect(await failing(transaction.abort())).toBeInstanceOf(TransactionOutcomeUnknownError);
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
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
    const { failing, begin, script, producer } = setUpTransactions();
    script({ TxnOffsetCommit: [refusedWith(number)] });
    const transaction = await begin();
    const error = await failing(transaction.sendOffsets(offsets(1)), 100);
    expect(error).toBeInstanceOf(kind);
    expect(await failing(transaction.commit(), 0)).toBeInstanceOf(RefusedError);
    await producer.close();
  });

  it('fails the records of a refused partition', async () => {
    const { failing, begin, script } = setUpTransactions();
    script({ AddPartitionsToTxn: [refusedWith(29)] });
    const transaction = await begin();
    const error = (await failing(transaction.send([record('a')]))) as SendError;
    expect([states(error), error.cause]).toEqual([['not-written'], expect.any(AuthorizationError)]);
  });

  it('rejects transaction() with advice if the id or its timeout is refused', async () => {
    const { failing, producer, script } = setUpTransactions();
    script({ InitProducerId: [refusedWith(53), refusedWith(50), answered] });
    expect(await failing(producer.transaction())).toBeInstanceOf(AuthorizationError);
    expect((await failing(producer.transaction())).message).toMatch(/transaction.max.timeout.ms/);
  });
});

describe.each(PROTOCOLS)('TxnOffsetCommit response without all partitions (%s)', (protocol) => {
  it('makes sendOffsets reject, and the transaction can only be aborted', async () => {
    const { cluster, failing, run, begin, script } = setUpTransactions({}, protocol);
    const transaction = await begin();
    const both = [0, 1].map((partition) => ({ topic: 'in', partition, offset: 1 }));
    // The response contains only the first partition.
    script({ TxnOffsetCommit: [refusedWith(0)] });
    const error = await failing(transaction.sendOffsets({ ...groupMember, offsets: both }), 100);
    expect(error).toBeInstanceOf(MalformedResponseError);
    expect(error.message).toContain('does not contain in/1,');
    expect(await failing(transaction.commit(), 0)).toBeInstanceOf(RefusedError);
    await run(transaction.abort());
    expect(cluster.coordinator.committedOffset).toBeUndefined();
  });
});

describe.each(PROTOCOLS)('abort of a transaction (%s)', (protocol) => {
  it('drops records that are not sent yet, without waiting for them', async () => {
    const { cluster, failing, run, begin, script } = setUpTransactions({}, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    script({ Produce: [refusedWith(19)] });
    const sending = failing(transaction.send([record('b')]), 100);
    await run(transaction.abort(), 2_000);
    expect(states((await sending) as SendError)).toEqual(['not-written']);
    expect(cluster.coordinator.isOpen).toBe(false);
  });

  it('stops adding partitions and groups to the transaction', async () => {
    const { failing, run, begin, script } = setUpTransactions({}, protocol);
    const transaction = await begin();
    script({ AddPartitionsToTxn: [refusedWith(51)], AddOffsetsToTxn: [refusedWith(51)] });
    const steps = [
      failing(transaction.send([record('a')]), 100),
      failing(transaction.sendOffsets(offsets(1)), 100),
    ];
    await run(transaction.abort(), 2_000);
    await Promise.all(steps);
  });
});

describe.each(PROTOCOLS)('records with an unknown result in a transaction (%s)', (protocol) => {
  it('prevent later sends to their partition, and the transaction can only be aborted', async () => {
    const { cluster, failing, run, begin, script } = setUpTransactions(
      { deliveryTimeoutMs: 1_000, requestTimeoutMs: 300 },
      protocol,
    );
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    script({ Produce: [responseLost] });
    const first = failing(transaction.send([record('b')]));
    await cluster.runtime.advance(500);
    const second = failing(transaction.send([record('c')]));
    await cluster.runtime.advance(3_000);
    expect(states((await first) as SendError)).toEqual(['unknown']);
    expect(states((await second) as SendError)).toEqual(['not-written']);
    script({});
    expect(await failing(transaction.commit())).toBeInstanceOf(RefusedError);
    await run(transaction.abort());
    const next = await begin();
    await run(next.send([record('d')]));
    await run(next.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['d']);
  });
});
