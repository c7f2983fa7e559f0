import assert from 'node:assert/strict';
import {
  ClosedError,
  FencedError,
  ProducerFencedError,
  RefusedError,
  SendError,
} from '../../../port/errors.js';
import { waitUntilShared } from '../../group.js';
import { namesOfPartitions } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import { transactional, waitUntilReadable } from '../../transactions.js';

/** Registers cases in which the broker or a newer producer ends a transaction. */
export function transactionFencingContract(suite: ContractSuite): void {
  fencing(suite);
  endedByOthers(suite);
}

function fencing({ requiring }: ContractSuite): void {
  const testCase = requiring('transactions');

  testCase('a member of an old generation cannot send its offsets', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const first = await context.join({ topics: [topic], groupId });
    const { memberId, generation } = first.session;
    const driver = await context.newProcess();
    const second = await context.join({ topics: [topic], groupId, driver });
    await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
    const producer = transactional(context);
    const transaction = await producer.transaction();
    await transaction.send([{ topic, value: 'of a fencedProducer' }]);
    const offsets = [{ topic, partition: 0, offset: 1 }];
    const error = await context.rejects(
      transaction.sendOffsets({ groupId, memberId, generation, offsets }),
      FencedError,
    );
    assert.deepEqual(error.partitions, [{ topic, partition: 0 }]);
    await context.rejects(transaction.commit(), RefusedError);
    await context.within(transaction.abort(), 'the abort');
    assert.deepEqual(await context.admin.groupOffsets(groupId), []);
    await context.within(producer.transaction(), 'the next transaction');
  });

  testCase('a client that is not in the group cannot send its offsets', async (context) => {
    const [topic, groupId] = [await context.topic(), context.name('group')];
    const { session } = await context.join({ topics: [topic], groupId });
    const transaction = await transactional(context).transaction();
    const offsets = [{ topic, partition: 0, offset: 1 }];
    const { generation } = session;
    await context.rejects(
      transaction.sendOffsets({ groupId, memberId: 'stranger', generation, offsets }),
      FencedError,
    );
    await transaction.abort();
    assert.deepEqual(await context.admin.groupOffsets(groupId), []);
  });

  testCase('a replaced static member cannot send its offsets', async (context) => {
    const [topic, groupId] = [await context.topic(), context.name('group')];
    const groupInstanceId = 'instance';
    const { session } = await context.join({ topics: [topic], groupId, groupInstanceId });
    const { memberId, generation } = session;
    const offsets = (offset: number) => ({
      ...{ groupId, groupInstanceId, memberId, generation },
      offsets: [{ topic, partition: 0, offset }],
    });
    const producer = transactional(context);
    const good = await producer.transaction();
    await good.sendOffsets(offsets(1));
    await context.within(good.commit(), 'the commit');
    await context.join({
      topics: [topic],
      groupId,
      groupInstanceId,
      driver: await context.newProcess(),
    });
    const late = await producer.transaction();
    await context.rejects(late.sendOffsets(offsets(2)), FencedError);
    await context.within(late.abort(), 'the abort');
    assert.equal((await context.admin.groupOffsets(groupId))[0]?.offset, 1);
  });

  testCase(
    'a second producer with the id fences the first and aborts its transaction',
    async (context) => {
      const topic = await context.topic();
      const transactionalId = context.name('tx');
      const fencedProducer = transactional(context, { transactionalId });
      const old = await context.within(fencedProducer.transaction(), 'a transaction');
      await old.send([{ topic, value: 'old' }]);
      const driver = await context.newProcess();
      const producer = transactional(context, { transactionalId }, driver);
      const transaction = await context.within(producer.transaction(), 'the next transaction');
      const error = await context.rejects(old.commit(), ProducerFencedError);
      assert.deepEqual([error.transactionalId, error.retriable], [transactionalId, false]);
      await context.within(old.abort(), 'the abort of an aborted transaction');
      await context.rejects(fencedProducer.transaction(), ProducerFencedError);
      await transaction.send([{ topic, value: 'new' }]);
      await context.within(transaction.commit(), 'the commit');
      await waitUntilReadable(context, topic, ['0:new']);
    },
  );

  testCase('a fenced producer cannot write, and cannot fence its successor', async (context) => {
    const topic = await context.topic();
    const transactionalId = context.name('tx');
    const fencedProducer = transactional(context, { transactionalId });
    const old = await context.within(fencedProducer.transaction(), 'a transaction');
    await old.send([{ topic, value: 'old' }]);
    const producer = transactional(context, { transactionalId }, await context.newProcess());
    const transaction = await context.within(producer.transaction(), 'the next transaction');
    await transaction.send([{ topic, value: 'new 1' }]);
    const error = await context.rejects(old.send([{ topic, value: 'fencedProducer' }]), SendError);
    assert.ok(error.cause instanceof ProducerFencedError, String(error.cause));
    assert.deepEqual(
      error.outcomes.map(({ state }) => state),
      ['not-written'],
    );
    await context.within(old.abort(), 'the abort');
    await context.rejects(fencedProducer.transaction(), ProducerFencedError);
    await transaction.send([{ topic, value: 'new 2' }]);
    await context.within(transaction.commit(), 'the commit');
    await waitUntilReadable(context, topic, ['0:new 1', '0:new 2']);
  });
}

function endedByOthers(suite: ContractSuite): void {
  const testCase = suite.requiring('transactions');

  testCase('the successor of a dead producer aborts its open transaction', async (context) => {
    const topic = await context.topic();
    const transactionalId = context.name('tx');
    const dying = await context.newProcess();
    const left = await transactional(context, { transactionalId }, dying).transaction();
    await left.send([{ topic, value: 'left open' }]);
    const producer = transactional(context, { transactionalId });
    const transaction = await context.within(producer.transaction(), 'the next transaction');
    await transaction.send([{ topic, value: 'new' }]);
    await context.within(transaction.commit(), 'the commit');
    await waitUntilReadable(context, topic, ['0:new']);
  });

  testCase(
    'closing a producer aborts its open transaction, and unblocks readers',
    async (context) => {
      const topic = await context.topic();
      const producer = transactional(context);
      const transaction = await producer.transaction();
      await transaction.send([{ topic, value: 'left open' }]);
      await context.write(topic, ['next']);
      await context.within(producer.close(), 'the producer to close');
      await context.rejects(transaction.send([{ topic, value: 'late' }]), RefusedError);
      await context.rejects(producer.transaction(), ClosedError);
      await waitUntilReadable(context, topic, ['0:next']);
    },
  );

  testCase('the broker aborts a transaction after its timeout', async (context) => {
    const topic = await context.topic();
    const producer = transactional(context, { transactionTimeoutMs: 1_000 });
    const transaction = await producer.transaction();
    await transaction.send([{ topic, value: 'too slow' }]);
    await context.write(topic, ['next']);
    await waitUntilReadable(context, topic, ['0:next']);
    await context.rejects(transaction.commit(), ProducerFencedError);
    await context.within(transaction.abort(), 'the abort of an aborted transaction');
    await context.rejects(producer.transaction(), ProducerFencedError);
  });

  suite.requiring('transactions', 'unplug')(
    'a transaction continues after a lost connection',
    async (context) => {
      const topic = await context.topic();
      const driver = await context.newProcess();
      const transaction = await transactional(context, {}, driver).transaction();
      await transaction.send([{ topic, value: 'before' }]);
      const reconnect = await context.ability('unplug')(driver);
      const sent = transaction.send([{ topic, value: 'after' }]);
      await context.staysPending(sent, 'A send without a connection');
      await reconnect();
      await context.within(sent, 'the record');
      await context.within(transaction.commit(), 'the commit');
      await waitUntilReadable(context, topic, ['0:before', '0:after']);
    },
  );
}
