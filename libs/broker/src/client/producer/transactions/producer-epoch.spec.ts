import { ProducerFencedError, type SendError } from '../../../port/errors.js';
import { states } from '../producer-under-test.spec-support.js';
import {
  record,
  offsets,
  PROTOCOLS,
  setUpTransactions,
  answered,
  responseLost,
  requestLost,
  refusedWith,
} from './transactional-producer.spec-support.js';

describe('producer epoch in transaction protocol v1', () => {
  it.each(['AddPartitionsToTxn', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn'])(
    'increases after a repeated %s, because the first request may arrive in the next transaction',
    async (name) => {
      const { cluster, run, begin, script } = setUpTransactions();
      script({ [name]: [responseLost, answered] });
      const transaction = await begin();
      await run(transaction.send([record('a')]));
      await run(transaction.sendOffsets(offsets(1)));
      await run(transaction.commit());
      await begin();
      expect(cluster.coordinator.epoch).toBe(1);
      expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
    },
  );

  it('increases after a failed send, and the sequence restarts at 0', async () => {
    const { cluster, run, failing, begin, script } = setUpTransactions();
    script({ Produce: [answered, refusedWith(32), answered] });
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

  it('stays the same if records are sent again, because sequence numbers protect them', async () => {
    const { cluster, run, begin, script } = setUpTransactions();
    script({ Produce: [responseLost, answered] });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(transaction.commit());
    await begin();
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
    expect(cluster.coordinator.epoch).toBe(0);
  });

  it('increases only after the open transaction is aborted, because InitProducerId would fence the producer itself', async () => {
    const { cluster, run, failing, begin, script } = setUpTransactions({
      deliveryTimeoutMs: 1_000,
    });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    script({ EndTxn: [requestLost] });
    expect(await failing(transaction.abort())).toMatchObject({ retriable: true });
    expect(cluster.coordinator.isOpen).toBe(true);
    script({});
    await begin();
    expect(cluster.requestLog.slice(-2)).toEqual(['EndTxn e0', 'InitProducerId e0']);
    expect(cluster.coordinator.isOpen).toBe(false);
  });
});

describe.each(PROTOCOLS)(
  'producer whose transactional id the coordinator has forgotten (%s)',
  (protocol) => {
    it('calls InitProducerId again, because no transaction can be open', async () => {
      const { cluster, run, failing, begin, script } = setUpTransactions({}, protocol);
      const first = await begin();
      await run(first.send([record('a')]));
      await run(first.commit());
      script({
        AddPartitionsToTxn: [refusedWith(49)],
        Produce: [refusedWith(49)],
        EndTxn: [refusedWith(49)],
      });
      const second = await begin();
      await failing(second.send([record('b')]));
      await failing(second.abort());
      const third = await begin();
      script({});
      await run(third.send([record('c')]));
      await run(third.commit());
      expect(cluster.coordinator.committed('orders/0')).toEqual(['a', 'c']);
    });
  },
);

describe('fenced producer', () => {
  it.each(['AddPartitionsToTxn', 'AddOffsetsToTxn', 'TxnOffsetCommit', 'EndTxn'])(
    'fails when %s reports the fencing, and never takes the transactional id back',
    async (name) => {
      const { cluster, failing, run, begin, producer, script } = setUpTransactions();
      const transaction = await begin();
      if (name === 'EndTxn') await run(transaction.send([record('a')]));
      if (name === 'TxnOffsetCommit') script({ TxnOffsetCommit: [refusedWith(47)] });
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
      // InitProducerId with the old epoch is harmless, because it fences no other producer.
      expect(inits.every(({ epoch }) => epoch === 0)).toBe(true);
    },
  );

  it('fails when Produce reports the fencing, and the records are not written', async () => {
    const { cluster, failing, run, begin } = setUpTransactions();
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
