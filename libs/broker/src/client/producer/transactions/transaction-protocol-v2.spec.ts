import { ProducerFencedError } from '../../../port/errors.js';
import type { ProducerOptions } from '../../../port/producer.js';
import {
  record,
  offsets,
  setUpTransactions,
  answered,
  responseLost,
  requestLost,
  refusedWith,
} from './transactional-producer.spec-support.js';

describe('transaction in transaction protocol v2', () => {
  const implied = (options: ProducerOptions = {}) => setUpTransactions(options, 'v2');

  it('sends no AddPartitionsToTxn or AddOffsetsToTxn, and uses the epoch that the previous EndTxn returned', async () => {
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

  it('sends no request if it has no records and no offsets', async () => {
    const { cluster, run, begin } = implied();
    await run((await begin()).commit());
    await run((await begin()).abort());
    expect(cluster.requestLog).toEqual(['InitProducerId']);
  });

  it.each([51, 14, 15, 16])('retries its requests after code %i', async (number) => {
    const { cluster, run, begin, script } = implied();
    script(
      Object.fromEntries(
        ['Produce', 'TxnOffsetCommit', 'EndTxn'].map((name) => [
          name,
          [refusedWith(number), answered],
        ]),
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
    'repeats %s without another InitProducerId',
    async (name) => {
      const { cluster, run, begin, script } = implied();
      script({ [name]: [responseLost, answered] });
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

  it('uses the epoch that the abort returned if a send of the previous transaction failed', async () => {
    const { cluster, run, failing, begin, script } = implied();
    script({ Produce: [answered, refusedWith(32), answered] });
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

  it('calls InitProducerId if the response to the previous EndTxn has no epoch', async () => {
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

  it('aborts the previous transaction again before it begins if that abort got no response', async () => {
    const { cluster, run, failing, begin, script } = implied({ deliveryTimeoutMs: 1_000 });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    script({ EndTxn: [requestLost] });
    expect(await failing(transaction.abort())).toMatchObject({ retriable: true });
    script({});
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
    const { cluster, run, failing, begin, script } = implied();
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    script({ [name]: [refusedWith(120), answered] });
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
      // A second producer has taken over the id and begun a transaction in the next epoch.
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

  it('is used for the next transaction, in a new epoch, once the cluster has finalized transaction.version 2', async () => {
    const { cluster, run, begin } = setUpTransactions();
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
