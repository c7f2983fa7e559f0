import assert from 'node:assert/strict';
import {
  ClosedError,
  FencedError,
  InvalidOptionError,
  ProducerFencedError,
  RefusedError,
  SendError,
  UnsupportedError,
} from '../../../port/errors.js';
import type { BrokerDriver } from '../../../port/driver.js';
import type { ProducerOptions, ProducerSession, Transaction } from '../../../port/producer.js';
import { waitUntilShared } from '../../group.js';
import { namesOfPartitions } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function transactionsContract(suite: ContractSuite): void {
  suite.requiring('no transactions')(
    'are refused clearly where there are none',
    async (context) => {
      const error = await context.rejects(context.producer().transaction(), UnsupportedError);
      assert.equal(error.retriable, false);
    },
  );
  outcomes(suite);
  order(suite);
  fencing(suite);
  ends(suite);
}

function outcomes({ requiring }: ContractSuite): void {
  const testCase = requiring('transactions');

  testCase('a commit shows all partitions and the offsets', async (context) => {
    const { topic, groupId, transaction } = await openTransaction(context);
    assert.deepEqual(await readCommitted(context, topic), []);
    assert.deepEqual(await context.admin.groupOffsets(groupId), []);
    await context.within(transaction.commit(), 'the commit');
    await waitUntilReadable(context, topic, ['0:a', '1:b']);
    await context.eventually(
      'the offset is committed',
      async () => (await context.admin.groupOffsets(groupId))[0]?.offset === 7,
    );
  });

  testCase('an abort shows neither', async (context) => {
    const { topic, groupId, transaction } = await openTransaction(context);
    await context.within(transaction.abort(), 'the abort');
    assert.deepEqual(await readCommitted(context, topic), []);
    assert.deepEqual(await context.admin.groupOffsets(groupId), []);
  });

  testCase('a group that was never seen can have its first offset so', async (context) => {
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
    'what a member commits while one is open is newer than its offsets, and stays',
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
    'offsets that are deleted while one is open do not come back with it',
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
    'nor do those of a topic that is deleted and created again meanwhile',
    async (context) => {
      const { topic, groupId, producer, transaction } = await withOffsets(context);
      await context.admin.deleteTopics([topic]);
      await context.eventually(
        'the group has no offset of it',
        async () => (await context.admin.groupOffsets(groupId)).length === 0,
      );
      const successor = { name: topic, partitions: 2 };
      await context.eventually(
        'its successor is created',
        async () => (await context.admin.createTopics([successor]))[0]?.changed === true,
      );
      await context.within(transaction.commit(), 'the commit');
      await waitUntilEnded(context, producer);
      assert.deepEqual(await context.admin.groupOffsets(groupId), []);
    },
  );

  testCase('one follows another, each with its own outcome', async (context) => {
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
  });

  testCase('an empty one ends at once, either way, and changes nothing', async (context) => {
    const topic = await context.topic();
    const producer = transactional(context);
    for (const end of ['commit', 'abort'] as const) {
      const transaction = await context.within(producer.transaction(), 'a transaction');
      assert.deepEqual(await transaction.send([]), []);
      const nobody = { groupId: context.name('group'), memberId: '', generation: -1 };
      await transaction.sendOffsets({ ...nobody, offsets: [] });
      await context.within(transaction[end](), 'its end');
    }
    const transaction = await context.within(producer.transaction(), 'a transaction');
    await transaction.send([{ topic, value: 'good' }]);
    await context.within(transaction.commit(), 'the commit');
    await waitUntilReadable(context, topic, ['0:good']);
  });

  testCase('many records of many sends at once', async (context) => {
    const topic = await context.topic(3);
    const transaction = await transactional(context).transaction();
    const sends = Array.from({ length: 30 }, (_, at) =>
      transaction.send([{ topic, partition: at % 3, value: String(at).padStart(2, '0') }]),
    );
    await context.within(transaction.commit(), 'the commit, which waits for what is under way');
    await Promise.all(sends);
    await context.eventually(
      'all can be read, in order',
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

  testCase('a transaction that has ended takes nothing more', async (context) => {
    const topic = await context.topic();
    const transaction = await transactional(context).transaction();
    await transaction.send([{ topic, partition: 0, value: 'in time' }]);
    await context.within(transaction.commit(), 'the commit');
    await context.rejects(transaction.send([{ topic, partition: 0, value: 'late' }]), RefusedError);
    await context.rejects(transaction.commit(), RefusedError);
    await context.rejects(transaction.abort(), RefusedError);
    await waitUntilReadable(context, topic, ['0:in time']);
  });

  testCase('a transaction that is being committed takes nothing more', async (context) => {
    const topic = await context.topic();
    const transaction = await transactional(context).transaction();
    const sent = transaction.send([{ topic, partition: 0, value: 'in time' }]);
    const commit = transaction.commit();
    await context.rejects(transaction.send([{ topic, partition: 0, value: 'late' }]), RefusedError);
    await context.rejects(transaction.commit(), RefusedError);
    await context.rejects(transaction.abort(), RefusedError);
    await context.within(commit, 'the commit');
    await sent;
    await waitUntilReadable(context, topic, ['0:in time']);
  });

  testCase('a producer has one at a time', async (context) => {
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

  testCase('after a send that failed only an abort is left', async (context) => {
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

  testCase('records too large together, but not each, are sent all the same', async (context) => {
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
    'what nobody could write or commit is refused, and counts as a failure',
    async (context) => {
      const topic = await context.topic();
      const producer = transactional(context);
      const nobody = { groupId: context.name('group'), memberId: '', generation: -1 };
      const steps: ((transaction: Transaction) => Promise<unknown>)[] = [
        (transaction) => transaction.send([{ topic: 'no topic', value: 'v' }]),
        (transaction) =>
          transaction.sendOffsets({ ...nobody, offsets: [{ topic, partition: 0, offset: -1 }] }),
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

  testCase('a producer of transactions sends nothing beside them', async (context) => {
    const topic = await context.topic();
    const error = await context.rejects(
      transactional(context).send([{ topic, value: 'v' }]),
      RefusedError,
    );
    assert.match(error.message, /transaction/);
  });

  testCase('a producer without an id has no transactions', async (context) => {
    const error = await context.rejects(context.producer().transaction(), InvalidOptionError);
    assert.match(error.message, /transactionalId/);
  });
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
    await transaction.send([{ topic, value: 'of a zombie' }]);
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

  testCase('a stranger to the group cannot send its offsets', async (context) => {
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

  testCase(
    'a static member whose place another process took cannot send its offsets',
    async (context) => {
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
    },
  );

  testCase(
    'a second producer with the id fences the first and aborts its transaction',
    async (context) => {
      const topic = await context.topic();
      const transactionalId = context.name('tx');
      const zombie = transactional(context, { transactionalId });
      const old = await context.within(zombie.transaction(), 'a transaction');
      await old.send([{ topic, value: 'old' }]);
      const driver = await context.newProcess();
      const producer = transactional(context, { transactionalId }, driver);
      const transaction = await context.within(producer.transaction(), 'a transaction after it');
      const error = await context.rejects(old.commit(), ProducerFencedError);
      assert.deepEqual([error.transactionalId, error.retriable], [transactionalId, false]);
      await context.within(old.abort(), 'the abort, which has happened already');
      await context.rejects(zombie.transaction(), ProducerFencedError);
      await transaction.send([{ topic, value: 'new' }]);
      await context.within(transaction.commit(), 'the commit');
      await waitUntilReadable(context, topic, ['0:new']);
    },
  );

  testCase('a fenced producer cannot write either, nor fence its successor', async (context) => {
    const topic = await context.topic();
    const transactionalId = context.name('tx');
    const zombie = transactional(context, { transactionalId });
    const old = await context.within(zombie.transaction(), 'a transaction');
    await old.send([{ topic, value: 'old' }]);
    const producer = transactional(context, { transactionalId }, await context.newProcess());
    const transaction = await context.within(producer.transaction(), 'a transaction after it');
    await transaction.send([{ topic, value: 'new 1' }]);
    const error = await context.rejects(old.send([{ topic, value: 'zombie' }]), SendError);
    assert.ok(error.cause instanceof ProducerFencedError, String(error.cause));
    assert.deepEqual(
      error.outcomes.map(({ state }) => state),
      ['not-written'],
    );
    await context.within(old.abort(), 'the abort');
    await context.rejects(zombie.transaction(), ProducerFencedError);
    await transaction.send([{ topic, value: 'new 2' }]);
    await context.within(transaction.commit(), 'the commit');
    await waitUntilReadable(context, topic, ['0:new 1', '0:new 2']);
  });
}

function ends(suite: ContractSuite): void {
  const testCase = suite.requiring('transactions');

  testCase('what a dead producer left open is aborted by its successor', async (context) => {
    const topic = await context.topic();
    const transactionalId = context.name('tx');
    const dying = await context.newProcess();
    const left = await transactional(context, { transactionalId }, dying).transaction();
    await left.send([{ topic, value: 'left open' }]);
    const producer = transactional(context, { transactionalId });
    const transaction = await context.within(producer.transaction(), 'a transaction after it');
    await transaction.send([{ topic, value: 'new' }]);
    await context.within(transaction.commit(), 'the commit');
    await waitUntilReadable(context, topic, ['0:new']);
  });

  testCase(
    'closing a producer aborts what it left open, and frees its readers',
    async (context) => {
      const topic = await context.topic();
      const producer = transactional(context);
      const transaction = await producer.transaction();
      await transaction.send([{ topic, value: 'left open' }]);
      await context.write(topic, ['behind it']);
      await context.within(producer.close(), 'the producer to close');
      await context.rejects(transaction.send([{ topic, value: 'late' }]), RefusedError);
      await context.rejects(producer.transaction(), ClosedError);
      await waitUntilReadable(context, topic, ['0:behind it']);
    },
  );

  testCase('one that is open for too long is aborted by the broker', async (context) => {
    const topic = await context.topic();
    const producer = transactional(context, { transactionTimeoutMs: 1_000 });
    const transaction = await producer.transaction();
    await transaction.send([{ topic, value: 'too slow' }]);
    await context.write(topic, ['behind it']);
    await waitUntilReadable(context, topic, ['0:behind it']);
    await context.rejects(transaction.commit(), ProducerFencedError);
    await context.within(transaction.abort(), 'the abort, which has happened already');
    await context.rejects(producer.transaction(), ProducerFencedError);
  });

  suite.requiring('transactions', 'unplug')(
    'a cut line in between breaks nothing: it goes on where it was',
    async (context) => {
      const topic = await context.topic();
      const driver = await context.newProcess();
      const transaction = await transactional(context, {}, driver).transaction();
      await transaction.send([{ topic, value: 'before' }]);
      const plugIn = await context.ability('unplug')(driver);
      const sent = transaction.send([{ topic, value: 'after' }]);
      await context.staysPending(sent, 'A send without a line');
      await plugIn();
      await context.within(sent, 'the record');
      await context.within(transaction.commit(), 'the commit');
      await waitUntilReadable(context, topic, ['0:before', '0:after']);
    },
  );
}

function transactional(
  context: CaseContext,
  options: ProducerOptions = {},
  driver: BrokerDriver = context.driver,
): ProducerSession {
  return driver.producer({ transactionalId: context.name('tx'), ...options });
}

/** A transaction with a record in each of two partitions and an offset of a group. */
async function openTransaction(context: CaseContext) {
  const [topic, source, groupId] = [
    await context.topic(2),
    await context.topic(),
    context.name('group'),
  ];
  const { session } = await context.join({ topics: [source], groupId });
  const transaction: Transaction = await context.within(
    transactional(context).transaction(),
    'a transaction',
  );
  await transaction.send([
    { topic, partition: 0, value: 'a' },
    { topic, partition: 1, value: 'b' },
  ]);
  const offsets = [{ topic: source, partition: 0, offset: 7 }];
  const { memberId, generation } = session;
  await transaction.sendOffsets({ groupId, memberId, generation, offsets });
  return { topic, groupId, transaction };
}

/** A transaction with an offset of a group in each of two partitions; of one the group has one already. */
async function withOffsets(context: CaseContext) {
  const [topic, groupId] = [await context.topic(2), context.name('group')];
  await context.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 1 }]);
  const producer = transactional(context);
  const transaction = await context.within(producer.transaction(), 'a transaction');
  const offsets = [0, 1].map((partition) => ({ topic, partition, offset: 3 }));
  await transaction.sendOffsets({ groupId, memberId: '', generation: -1, offsets });
  return { topic, groupId, producer, transaction };
}

/** A transaction can write when the one before it has ended everywhere. */
async function waitUntilEnded(context: CaseContext, producer: ProducerSession): Promise<void> {
  const next = await context.within(producer.transaction(), 'the next transaction');
  await context.within(next.send([{ topic: await context.topic(), value: 'v' }]), 'its record');
  await next.abort();
}

/** The broker answers a commit before its end is in every log. */
async function waitUntilReadable(
  context: CaseContext,
  topic: string,
  expected: readonly string[],
): Promise<void> {
  const all = expected.join();
  await context.eventually(
    `exactly ${all} can be read`,
    async () => (await readCommitted(context, topic)).join() === all,
  );
}

/** What a read_committed reader may see, without joining a group. */
async function readCommitted(context: CaseContext, topic: string): Promise<string[]> {
  const seen: string[] = [];
  for (const { partition } of await context.admin.watermarks(topic))
    for await (const record of context.admin.readRange(topic, partition, 0, 100))
      seen.push(`${partition}:${String(record.value)}`);
  return seen;
}
