import { ClosedError, RefusedError, RequestTimeoutError } from '../../../port/errors.js';
import {
  record,
  offsets,
  PROTOCOLS,
  setUpTransactions,
  answered,
  requestLost,
  refusedWith,
} from './transactional-producer.spec-support.js';

describe('transaction in transaction protocol v1', () => {
  it('adds each partition and the group once, and the next transaction has the same epoch', async () => {
    const { cluster, producer, run, begin } = setUpTransactions();
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

  it('sends no request if it has no records and no offsets', async () => {
    const { cluster, producer, run, begin } = setUpTransactions();
    await run((await begin()).commit());
    await run((await begin()).abort());
    expect(cluster.requestLog).toEqual(['InitProducerId']);
    await producer.close();
  });

  it('waits in beginning until the coordinator has completed the previous transaction', async () => {
    const { cluster, run, begin, script } = setUpTransactions();
    script({ AddPartitionsToTxn: [refusedWith(51), refusedWith(51), answered] });
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(transaction.commit());
    expect(cluster.coordinator.committed('orders/0')).toEqual(['a']);
  });

  it.each([14, 15, 16])('finds its coordinator and retries after code %i', async (number) => {
    const { cluster, run, begin, script } = setUpTransactions();
    script(
      Object.fromEntries(
        [
          'InitProducerId',
          'AddPartitionsToTxn',
          'AddOffsetsToTxn',
          'TxnOffsetCommit',
          'EndTxn',
        ].map((name) => [name, [refusedWith(number), answered]]),
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
  const { cluster, begin } = setUpTransactions();
  const before = { id: 7, host: 'before', port: 9, rack: null };
  cluster.metadata.update({ brokers: [before], clusterId: null, controllerId: 7, topics: [] });
  await begin();
  expect(cluster.metadata.brokers.get(7)).toMatchObject({ host: 'node', port: 1 });
});

describe.each(PROTOCOLS)(
  'batch of a transaction that is too large for the broker (%s)',
  (protocol) => {
    it('is split into batches with the same sequence numbers, and the epoch stays the same', async () => {
      const { cluster, run, begin, script } = setUpTransactions({}, protocol);
      const transaction = await begin();
      await run(transaction.send([record('a')]));
      script({ Produce: [refusedWith(10), answered] });
      await run(transaction.send([record('b'), record('c'), record('d')]));
      await run(transaction.commit());
      expect(cluster.coordinator.committed('orders/0')).toEqual(['a', 'b', 'c', 'd']);
      await begin();
      expect(cluster.coordinator.epoch).toBe(protocol === 'v2' ? 1 : 0);
    });
  },
);

describe.each(PROTOCOLS)('closing a transactional producer (%s)', (protocol) => {
  it('aborts the open transaction', async () => {
    const { cluster, producer, run, begin } = setUpTransactions({}, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    await run(producer.close());
    expect(cluster.coordinator.isOpen).toBe(false);
    await expect(transaction.commit()).rejects.toBeInstanceOf(RefusedError);
    await expect(producer.transaction()).rejects.toBeInstanceOf(ClosedError);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('ends within a fixed time if no coordinator responds', async () => {
    const { cluster, producer, run, begin, script } = setUpTransactions({}, protocol);
    const transaction = await begin();
    await run(transaction.send([record('a')]));
    script({ EndTxn: [requestLost] });
    await run(producer.close(), 30_000);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('rejects a transaction that is just beginning', async () => {
    const { cluster, producer, run, failing, script } = setUpTransactions({}, protocol);
    script({ InitProducerId: [refusedWith(51)] });
    const beginning = failing(producer.transaction(), 100);
    await run(producer.close(), 100);
    expect(await beginning).toBeInstanceOf(ClosedError);
    expect(cluster.runtime.pendingTimers).toBe(0);
  });

  it('is not needed if transaction() found no coordinator: the next call can succeed', async () => {
    const { producer, failing, script } = setUpTransactions({ deliveryTimeoutMs: 2_000 }, protocol);
    script({ InitProducerId: [refusedWith(15)] });
    expect(await failing(producer.transaction())).not.toBeInstanceOf(RequestTimeoutError);
    script({});
    await expect(producer.transaction()).resolves.toBeDefined();
  });
});
