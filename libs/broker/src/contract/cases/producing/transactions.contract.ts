import assert from 'node:assert/strict';
import {
  InvalidOptionError,
  RefusedError,
  SendError,
  UnsupportedError,
} from '../../../port/errors.js';
import type { Transaction } from '../../../port/producer.js';
import type { ContractSuite } from '../../contract-suite.js';
import {
  transactional,
  openTransaction,
  withOffsets,
  waitUntilEnded,
  waitUntilReadable,
  readCommitted,
} from '../../transactions.js';
import { transactionFencingContract } from './transaction-fencing.contract.js';

export function transactionsContract(suite: ContractSuite): void {
  suite.requiring('no transactions')(
    'a driver without transactions refuses them with an error that says so',
    async (context) => {
      const error = await context.rejects(context.producer().transaction(), UnsupportedError);
      assert.equal(error.retriable, false);
    },
  );
  outcomes(suite);
  order(suite);
  transactionFencingContract(suite);
}

function outcomes({ requiring }: ContractSuite): void {
  const testCase = requiring('transactions');

  testCase(
    'the records of all partitions and the offsets are visible after a commit',
    async (context) => {
      const { topic, groupId, transaction } = await openTransaction(context);
      assert.deepEqual(await readCommitted(context, topic), []);
      assert.deepEqual(await context.admin.groupOffsets(groupId), []);
      await context.within(transaction.commit(), 'the commit');
      await waitUntilReadable(context, topic, ['0:a', '1:b']);
      await context.eventually(
        'the offset is committed',
        async () => (await context.admin.groupOffsets(groupId))[0]?.offset === 7,
      );
    },
  );

  testCase('an abort makes neither the records nor the offsets visible', async (context) => {
    const { topic, groupId, transaction } = await openTransaction(context);
    await context.within(transaction.abort(), 'the abort');
    assert.deepEqual(await readCommitted(context, topic), []);
    assert.deepEqual(await context.admin.groupOffsets(groupId), []);
  });

  testCase('the first offset of a new group can be committed in a transaction', async (context) => {
    const [topic, groupId] = [await context.topic(), context.name('group')];
    const transaction = await transactional(context).transaction();
    const offsets = [{ topic, partition: 0, offset: 3, metadata: 'why', leaderEpoch: 0 }];
    await transaction.sendOffsets({ groupId, memberId: '', generation: -1, offsets });
    await context.within(transaction.commit(), 'the commit');
    await context.eventually('the offset is committed', async () => {
      const [stored] = await context.admin.groupOffsets(groupId);
      return stored?.offset === 3 && stored.metadata === 'why';
    });
  });

  testCase(
    'an offset that a member commits during a transaction is not overwritten by the commit of the transaction',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      await context.write(topic, ['a', 'b']);
      const member = await context.join({ topics: [topic], groupId });
      const { memberId, generation } = member.session;
      const producer = transactional(context);
      const transaction = await producer.transaction();
      const offsets = [{ topic, partition: 0, offset: 2 }];
      await transaction.sendOffsets({ groupId, memberId, generation, offsets });
      await context.within(member.session.commit([{ topic, partition: 0, offset: 1 }]), 'a commit');
      await context.within(transaction.commit(), 'the commit of the transaction');
      await waitUntilEnded(context, producer);
      assert.equal((await context.admin.groupOffsets(groupId))[0]?.offset, 1);
    },
  );

  testCase(
    'offsets deleted during a transaction are not restored by its commit',
    async (context) => {
      const { topic, groupId, producer, transaction } = await withOffsets(context);
      const partitions = [0, 1].map((partition) => ({ topic, partition }));
      await context.admin.deleteGroupOffsets(groupId, partitions);
      await context.within(transaction.commit(), 'the commit');
      await waitUntilEnded(context, producer);
      assert.deepEqual(await context.admin.groupOffsets(groupId), []);
    },
  );

  testCase(
    'offsets of a topic that is recreated during a transaction are not restored by its commit',
    async (context) => {
      const { topic, groupId, producer, transaction } = await withOffsets(context);
      await context.admin.deleteTopics([topic]);
      await context.eventually(
        'the group has no offset of the topic',
        async () => (await context.admin.groupOffsets(groupId)).length === 0,
      );
      const successor = { name: topic, partitions: 2 };
      await context.eventually(
        'the topic is recreated',
        async () => (await context.admin.createTopics([successor]))[0]?.changed === true,
      );
      await context.within(transaction.commit(), 'the commit');
      await waitUntilEnded(context, producer);
      assert.deepEqual(await context.admin.groupOffsets(groupId), []);
    },
  );

  testCase(
    'consecutive transactions are each committed or aborted on their own',
    async (context) => {
      const topic = await context.topic();
      const producer = transactional(context);
      for (const [value, good] of [
        ['first', true],
        ['second', false],
        ['third', true],
        ['fourth', true],
      ] as const) {
        const transaction = await context.within(producer.transaction(), 'a transaction');
        await transaction.send([{ topic, partition: 0, value }]);
        await context.within(good ? transaction.commit() : transaction.abort(), 'its end');
      }
      await waitUntilReadable(context, topic, ['0:first', '0:third', '0:fourth']);
    },
  );

  testCase(
    'an empty transaction can be committed or aborted at once, and changes nothing',
    async (context) => {
      const topic = await context.topic();
      const producer = transactional(context);
      for (const end of ['commit', 'abort'] as const) {
        const transaction = await context.within(producer.transaction(), 'a transaction');
        assert.deepEqual(await transaction.send([]), []);
        const noMember = { groupId: context.name('group'), memberId: '', generation: -1 };
        await transaction.sendOffsets({ ...noMember, offsets: [] });
        await context.within(transaction[end](), 'its end');
      }
      const transaction = await context.within(producer.transaction(), 'a transaction');
      await transaction.send([{ topic, value: 'good' }]);
      await context.within(transaction.commit(), 'the commit');
      await waitUntilReadable(context, topic, ['0:good']);
    },
  );

  testCase('records of parallel sends are all committed', async (context) => {
    const topic = await context.topic(3);
    const transaction = await transactional(context).transaction();
    const sends = Array.from({ length: 30 }, (_, at) =>
      transaction.send([{ topic, partition: at % 3, value: String(at).padStart(2, '0') }]),
    );
    await context.within(transaction.commit(), 'the commit, which waits for pending sends');
    await Promise.all(sends);
    await context.eventually(
      'all records are readable, in order',
      async () =>
        (await readCommitted(context, topic)).join() ===
        [0, 1, 2]
          .flatMap((partition) =>
            Array.from({ length: 10 }, (_, at) => at * 3 + partition).map(
              (at) => `${partition}:${String(at).padStart(2, '0')}`,
            ),
          )
          .join(),
    );
  });
}

function order({ requiring }: ContractSuite): void {
  const testCase = requiring('transactions');

  testCase('an ended transaction refuses further records and offsets', async (context) => {
    const topic = await context.topic();
    const transaction = await transactional(context).transaction();
    await transaction.send([{ topic, partition: 0, value: 'in time' }]);
    await context.within(transaction.commit(), 'the commit');
    await context.rejects(transaction.send([{ topic, partition: 0, value: 'late' }]), RefusedError);
    await context.rejects(transaction.commit(), RefusedError);
    await context.rejects(transaction.abort(), RefusedError);
    await waitUntilReadable(context, topic, ['0:in time']);
  });

  testCase(
    'a transaction refuses further records and offsets during its commit',
    async (context) => {
      const topic = await context.topic();
      const transaction = await transactional(context).transaction();
      const sent = transaction.send([{ topic, partition: 0, value: 'in time' }]);
      const commit = transaction.commit();
      await context.rejects(
        transaction.send([{ topic, partition: 0, value: 'late' }]),
        RefusedError,
      );
      await context.rejects(transaction.commit(), RefusedError);
      await context.rejects(transaction.abort(), RefusedError);
      await context.within(commit, 'the commit');
      await sent;
      await waitUntilReadable(context, topic, ['0:in time']);
    },
  );

  testCase('a producer refuses a second transaction while one is open', async (context) => {
    const topic = await context.topic();
    const producer = transactional(context);
    const [first, second] = [producer.transaction(), producer.transaction()];
    await context.rejects(second, RefusedError);
    const transaction = await context.within(first, 'a transaction');
    const error = await context.rejects(producer.transaction(), RefusedError);
    assert.match(error.message, /commit or abort it first/);
    await transaction.send([{ topic, value: 'good' }]);
    await context.within(transaction.commit(), 'the commit');
    await waitUntilReadable(context, topic, ['0:good']);
    await context.within(producer.transaction(), 'the next transaction');
  });

  testCase('a transaction can only be aborted after a failed send', async (context) => {
    const topic = await context.topic(1, { 'max.message.bytes': '1000' });
    const producer = transactional(context);
    const transaction = await producer.transaction();
    await transaction.send([{ topic, value: 'good' }]);
    await context.rejects(transaction.send([{ topic, value: 'x'.repeat(2_000) }]), SendError);
    for (const refused of [transaction.send([{ topic, value: 'late' }]), transaction.commit()]) {
      const error = await context.rejects(refused, RefusedError);
      assert.match(error.message, /Abort it/);
    }
    await context.within(transaction.abort(), 'the abort');
    await context.within(transaction.abort(), 'another abort, which changes nothing');
    const next = await context.within(producer.transaction(), 'the next transaction');
    await next.send([{ topic, value: 'next' }]);
    await context.within(next.commit(), 'the commit');
    await waitUntilReadable(context, topic, ['0:next']);
  });

  testCase('a batch that is too large is split, and all its records are sent', async (context) => {
    const topic = await context.topic(1, { 'max.message.bytes': '1000' });
    const transaction = await transactional(context).transaction();
    const records = ['a', 'b', 'c', 'd'].map((name) => ({ topic, value: name.repeat(400) }));
    await context.within(transaction.send(records), 'the records');
    await context.within(transaction.commit(), 'the commit');
    await waitUntilReadable(
      context,
      topic,
      records.map(({ value }) => `0:${value}`),
    );
  });

  testCase(
    'an invalid record or offset is refused, and the transaction can only be aborted',
    async (context) => {
      const topic = await context.topic();
      const producer = transactional(context);
      const noMember = { groupId: context.name('group'), memberId: '', generation: -1 };
      const steps: ((transaction: Transaction) => Promise<unknown>)[] = [
        (transaction) => transaction.send([{ topic: 'no topic', value: 'v' }]),
        (transaction) =>
          transaction.sendOffsets({ ...noMember, offsets: [{ topic, partition: 0, offset: -1 }] }),
      ];
      for (const step of steps) {
        const transaction = await context.within(producer.transaction(), 'a transaction');
        await transaction.send([{ topic, value: 'good' }]);
        await context.rejects(step(transaction), InvalidOptionError);
        await context.rejects(transaction.commit(), RefusedError);
        await context.within(transaction.abort(), 'the abort');
      }
      assert.deepEqual(await readCommitted(context, topic), []);
    },
  );

  testCase('a transactional producer refuses sends outside of a transaction', async (context) => {
    const topic = await context.topic();
    const error = await context.rejects(
      transactional(context).send([{ topic, value: 'v' }]),
      RefusedError,
    );
    assert.match(error.message, /transaction/);
  });

  testCase('a producer without a transactional id refuses transactions', async (context) => {
    const error = await context.rejects(context.producer().transaction(), InvalidOptionError);
    assert.match(error.message, /transactionalId/);
  });
}
