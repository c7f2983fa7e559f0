import assert from 'node:assert/strict';
import {
  ClosedError,
  FencedError,
  InvalidOptionError,
  ProducerFencedError,
  RefusedError,
  SendError,
  UnsupportedError,
} from '../../port/errors.js';
import type { BrokerDriver } from '../../port/driver.js';
import type { ProducerOptions, ProducerSession, Transaction } from '../../port/producer.js';
import { sharedOut } from '../group.js';
import { namesOf } from '../partition-name.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function transactionsContract(suite: ContractSuite): void {
  suite.needing('no transactions')('are refused clearly where there are none', async (world) => {
    const error = await world.rejects(world.producer().transaction(), UnsupportedError);
    assert.equal(error.retriable, false);
  });
  outcomes(suite);
  order(suite);
  zombies(suite);
  ends(suite);
}

function outcomes({ needing }: ContractSuite): void {
  const promise = needing('transactions');

  promise('a commit shows all partitions and the offsets', async (world) => {
    const { topic, groupId, transaction } = await begun(world);
    assert.deepEqual(await readable(world, topic), []);
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
    await world.within(transaction.commit(), 'the commit');
    await becomesReadable(world, topic, ['0:a', '1:b']);
    await world.eventually(
      'the offset is committed',
      async () => (await world.admin.groupOffsets(groupId))[0]?.offset === 7,
    );
  });

  promise('an abort shows neither', async (world) => {
    const { topic, groupId, transaction } = await begun(world);
    await world.within(transaction.abort(), 'the abort');
    assert.deepEqual(await readable(world, topic), []);
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
  });

  promise('a group that was never seen can have its first offset so', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    const transaction = await transactional(world).transaction();
    const offsets = [{ topic, partition: 0, offset: 3, metadata: 'why', leaderEpoch: 0 }];
    await transaction.sendOffsets({ groupId, memberId: '', generation: -1, offsets });
    await world.within(transaction.commit(), 'the commit');
    await world.eventually('the offset is committed', async () => {
      const [stored] = await world.admin.groupOffsets(groupId);
      return stored?.offset === 3 && stored.metadata === 'why';
    });
  });

  promise(
    'what a member commits while one is open is newer than its offsets, and stays',
    async (world) => {
      const [topic, groupId] = [await world.topic(), world.name('group')];
      await world.write(topic, ['a', 'b']);
      const member = await world.join({ topics: [topic], groupId });
      const { memberId, generation } = member.session;
      const producer = transactional(world);
      const transaction = await producer.transaction();
      const offsets = [{ topic, partition: 0, offset: 2 }];
      await transaction.sendOffsets({ groupId, memberId, generation, offsets });
      await world.within(member.session.commit([{ topic, partition: 0, offset: 1 }]), 'a commit');
      await world.within(transaction.commit(), 'the commit of the transaction');
      await hasEnded(world, producer);
      assert.equal((await world.admin.groupOffsets(groupId))[0]?.offset, 1);
    },
  );

  promise('offsets that are deleted while one is open do not come back with it', async (world) => {
    const { topic, groupId, producer, transaction } = await withOffsets(world);
    const partitions = [0, 1].map((partition) => ({ topic, partition }));
    await world.admin.deleteGroupOffsets(groupId, partitions);
    await world.within(transaction.commit(), 'the commit');
    await hasEnded(world, producer);
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
  });

  promise('nor do those of a topic that is deleted and created again meanwhile', async (world) => {
    const { topic, groupId, producer, transaction } = await withOffsets(world);
    await world.admin.deleteTopics([topic]);
    await world.eventually(
      'the group has no offset of it',
      async () => (await world.admin.groupOffsets(groupId)).length === 0,
    );
    const successor = { name: topic, partitions: 2 };
    await world.eventually(
      'its successor is created',
      async () => (await world.admin.createTopics([successor]))[0]?.changed === true,
    );
    await world.within(transaction.commit(), 'the commit');
    await hasEnded(world, producer);
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
  });

  promise('one follows another, each with its own outcome', async (world) => {
    const topic = await world.topic();
    const producer = transactional(world);
    for (const [value, good] of [
      ['first', true],
      ['second', false],
      ['third', true],
      ['fourth', true],
    ] as const) {
      const transaction = await world.within(producer.transaction(), 'a transaction');
      await transaction.send([{ topic, partition: 0, value }]);
      await world.within(good ? transaction.commit() : transaction.abort(), 'its end');
    }
    await becomesReadable(world, topic, ['0:first', '0:third', '0:fourth']);
  });

  promise('an empty one ends at once, either way, and changes nothing', async (world) => {
    const topic = await world.topic();
    const producer = transactional(world);
    for (const end of ['commit', 'abort'] as const) {
      const transaction = await world.within(producer.transaction(), 'a transaction');
      assert.deepEqual(await transaction.send([]), []);
      const nobody = { groupId: world.name('group'), memberId: '', generation: -1 };
      await transaction.sendOffsets({ ...nobody, offsets: [] });
      await world.within(transaction[end](), 'its end');
    }
    const transaction = await world.within(producer.transaction(), 'a transaction');
    await transaction.send([{ topic, value: 'good' }]);
    await world.within(transaction.commit(), 'the commit');
    await becomesReadable(world, topic, ['0:good']);
  });

  promise('many records of many sends at once', async (world) => {
    const topic = await world.topic(3);
    const transaction = await transactional(world).transaction();
    const sends = Array.from({ length: 30 }, (_, at) =>
      transaction.send([{ topic, partition: at % 3, value: String(at).padStart(2, '0') }]),
    );
    await world.within(transaction.commit(), 'the commit, which waits for what is under way');
    await Promise.all(sends);
    await world.eventually(
      'all can be read, in order',
      async () =>
        (await readable(world, topic)).join() ===
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

function order({ needing }: ContractSuite): void {
  const promise = needing('transactions');

  promise('a transaction that has ended takes nothing more', async (world) => {
    const topic = await world.topic();
    const transaction = await transactional(world).transaction();
    await transaction.send([{ topic, partition: 0, value: 'in time' }]);
    await world.within(transaction.commit(), 'the commit');
    await world.rejects(transaction.send([{ topic, partition: 0, value: 'late' }]), RefusedError);
    await world.rejects(transaction.commit(), RefusedError);
    await world.rejects(transaction.abort(), RefusedError);
    await becomesReadable(world, topic, ['0:in time']);
  });

  promise('a transaction that is being committed takes nothing more', async (world) => {
    const topic = await world.topic();
    const transaction = await transactional(world).transaction();
    const sent = transaction.send([{ topic, partition: 0, value: 'in time' }]);
    const commit = transaction.commit();
    await world.rejects(transaction.send([{ topic, partition: 0, value: 'late' }]), RefusedError);
    await world.rejects(transaction.commit(), RefusedError);
    await world.rejects(transaction.abort(), RefusedError);
    await world.within(commit, 'the commit');
    await sent;
    await becomesReadable(world, topic, ['0:in time']);
  });

  promise('a producer has one at a time', async (world) => {
    const topic = await world.topic();
    const producer = transactional(world);
    const [first, second] = [producer.transaction(), producer.transaction()];
    await world.rejects(second, RefusedError);
    const transaction = await world.within(first, 'a transaction');
    const error = await world.rejects(producer.transaction(), RefusedError);
    assert.match(error.message, /commit or abort it first/);
    await transaction.send([{ topic, value: 'good' }]);
    await world.within(transaction.commit(), 'the commit');
    await becomesReadable(world, topic, ['0:good']);
    await world.within(producer.transaction(), 'the next transaction');
  });

  promise('after a send that failed only an abort is left', async (world) => {
    const topic = await world.topic(1, { 'max.message.bytes': '1000' });
    const producer = transactional(world);
    const transaction = await producer.transaction();
    await transaction.send([{ topic, value: 'good' }]);
    await world.rejects(transaction.send([{ topic, value: 'x'.repeat(2_000) }]), SendError);
    for (const refused of [transaction.send([{ topic, value: 'late' }]), transaction.commit()]) {
      const error = await world.rejects(refused, RefusedError);
      assert.match(error.message, /Abort it/);
    }
    await world.within(transaction.abort(), 'the abort');
    await world.within(transaction.abort(), 'another abort, which changes nothing');
    const next = await world.within(producer.transaction(), 'the next transaction');
    await next.send([{ topic, value: 'next' }]);
    await world.within(next.commit(), 'the commit');
    await becomesReadable(world, topic, ['0:next']);
  });

  promise('records too large together, but not each, are sent all the same', async (world) => {
    const topic = await world.topic(1, { 'max.message.bytes': '1000' });
    const transaction = await transactional(world).transaction();
    const records = ['a', 'b', 'c', 'd'].map((name) => ({ topic, value: name.repeat(400) }));
    await world.within(transaction.send(records), 'the records');
    await world.within(transaction.commit(), 'the commit');
    await becomesReadable(
      world,
      topic,
      records.map(({ value }) => `0:${value}`),
    );
  });

  promise(
    'what nobody could write or commit is refused, and counts as a failure',
    async (world) => {
      const topic = await world.topic();
      const producer = transactional(world);
      const nobody = { groupId: world.name('group'), memberId: '', generation: -1 };
      const steps: ((transaction: Transaction) => Promise<unknown>)[] = [
        (transaction) => transaction.send([{ topic: 'no topic', value: 'v' }]),
        (transaction) =>
          transaction.sendOffsets({ ...nobody, offsets: [{ topic, partition: 0, offset: -1 }] }),
      ];
      for (const step of steps) {
        const transaction = await world.within(producer.transaction(), 'a transaction');
        await transaction.send([{ topic, value: 'good' }]);
        await world.rejects(step(transaction), InvalidOptionError);
        await world.rejects(transaction.commit(), RefusedError);
        await world.within(transaction.abort(), 'the abort');
      }
      assert.deepEqual(await readable(world, topic), []);
    },
  );

  promise('a producer of transactions sends nothing beside them', async (world) => {
    const topic = await world.topic();
    const error = await world.rejects(
      transactional(world).send([{ topic, value: 'v' }]),
      RefusedError,
    );
    assert.match(error.message, /transaction/);
  });

  promise('a producer without an id has no transactions', async (world) => {
    const error = await world.rejects(world.producer().transaction(), InvalidOptionError);
    assert.match(error.message, /transactionalId/);
  });
}

function zombies({ needing }: ContractSuite): void {
  const promise = needing('transactions');

  promise('a member of an old generation cannot send its offsets', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const first = await world.join({ topics: [topic], groupId });
    const { memberId, generation } = first.session;
    const driver = await world.process();
    const second = await world.join({ topics: [topic], groupId, driver });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    const producer = transactional(world);
    const transaction = await producer.transaction();
    await transaction.send([{ topic, value: 'of a zombie' }]);
    const offsets = [{ topic, partition: 0, offset: 1 }];
    const error = await world.rejects(
      transaction.sendOffsets({ groupId, memberId, generation, offsets }),
      FencedError,
    );
    assert.deepEqual(error.partitions, [{ topic, partition: 0 }]);
    await world.rejects(transaction.commit(), RefusedError);
    await world.within(transaction.abort(), 'the abort');
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
    await world.within(producer.transaction(), 'the next transaction');
  });

  promise('a stranger to the group cannot send its offsets', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    const { session } = await world.join({ topics: [topic], groupId });
    const transaction = await transactional(world).transaction();
    const offsets = [{ topic, partition: 0, offset: 1 }];
    const { generation } = session;
    await world.rejects(
      transaction.sendOffsets({ groupId, memberId: 'stranger', generation, offsets }),
      FencedError,
    );
    await transaction.abort();
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
  });

  promise(
    'a static member whose place another process took cannot send its offsets',
    async (world) => {
      const [topic, groupId] = [await world.topic(), world.name('group')];
      const groupInstanceId = 'instance';
      const { session } = await world.join({ topics: [topic], groupId, groupInstanceId });
      const { memberId, generation } = session;
      const offsets = (offset: number) => ({
        ...{ groupId, groupInstanceId, memberId, generation },
        offsets: [{ topic, partition: 0, offset }],
      });
      const producer = transactional(world);
      const good = await producer.transaction();
      await good.sendOffsets(offsets(1));
      await world.within(good.commit(), 'the commit');
      await world.join({
        topics: [topic],
        groupId,
        groupInstanceId,
        driver: await world.process(),
      });
      const late = await producer.transaction();
      await world.rejects(late.sendOffsets(offsets(2)), FencedError);
      await world.within(late.abort(), 'the abort');
      assert.equal((await world.admin.groupOffsets(groupId))[0]?.offset, 1);
    },
  );

  promise(
    'a second producer with the id fences the first and aborts its transaction',
    async (world) => {
      const topic = await world.topic();
      const transactionalId = world.name('tx');
      const zombie = transactional(world, { transactionalId });
      const old = await world.within(zombie.transaction(), 'a transaction');
      await old.send([{ topic, value: 'old' }]);
      const driver = await world.process();
      const producer = transactional(world, { transactionalId }, driver);
      const transaction = await world.within(producer.transaction(), 'a transaction after it');
      const error = await world.rejects(old.commit(), ProducerFencedError);
      assert.deepEqual([error.transactionalId, error.retriable], [transactionalId, false]);
      await world.within(old.abort(), 'the abort, which has happened already');
      await world.rejects(zombie.transaction(), ProducerFencedError);
      await transaction.send([{ topic, value: 'new' }]);
      await world.within(transaction.commit(), 'the commit');
      await becomesReadable(world, topic, ['0:new']);
    },
  );

  promise('a fenced producer cannot write either, nor fence its successor', async (world) => {
    const topic = await world.topic();
    const transactionalId = world.name('tx');
    const zombie = transactional(world, { transactionalId });
    const old = await world.within(zombie.transaction(), 'a transaction');
    await old.send([{ topic, value: 'old' }]);
    const producer = transactional(world, { transactionalId }, await world.process());
    const transaction = await world.within(producer.transaction(), 'a transaction after it');
    await transaction.send([{ topic, value: 'new 1' }]);
    const error = await world.rejects(old.send([{ topic, value: 'zombie' }]), SendError);
    assert.ok(error.cause instanceof ProducerFencedError, String(error.cause));
    assert.deepEqual(
      error.outcomes.map(({ state }) => state),
      ['not-written'],
    );
    await world.within(old.abort(), 'the abort');
    await world.rejects(zombie.transaction(), ProducerFencedError);
    await transaction.send([{ topic, value: 'new 2' }]);
    await world.within(transaction.commit(), 'the commit');
    await becomesReadable(world, topic, ['0:new 1', '0:new 2']);
  });
}

function ends(suite: ContractSuite): void {
  const promise = suite.needing('transactions');

  promise('what a dead producer left open is aborted by its successor', async (world) => {
    const topic = await world.topic();
    const transactionalId = world.name('tx');
    const dying = await world.process();
    const left = await transactional(world, { transactionalId }, dying).transaction();
    await left.send([{ topic, value: 'left open' }]);
    const producer = transactional(world, { transactionalId });
    const transaction = await world.within(producer.transaction(), 'a transaction after it');
    await transaction.send([{ topic, value: 'new' }]);
    await world.within(transaction.commit(), 'the commit');
    await becomesReadable(world, topic, ['0:new']);
  });

  promise('closing a producer aborts what it left open, and frees its readers', async (world) => {
    const topic = await world.topic();
    const producer = transactional(world);
    const transaction = await producer.transaction();
    await transaction.send([{ topic, value: 'left open' }]);
    await world.write(topic, ['behind it']);
    await world.within(producer.close(), 'the producer to close');
    await world.rejects(transaction.send([{ topic, value: 'late' }]), RefusedError);
    await world.rejects(producer.transaction(), ClosedError);
    await becomesReadable(world, topic, ['0:behind it']);
  });

  promise('one that is open for too long is aborted by the broker', async (world) => {
    const topic = await world.topic();
    const producer = transactional(world, { transactionTimeoutMs: 1_000 });
    const transaction = await producer.transaction();
    await transaction.send([{ topic, value: 'too slow' }]);
    await world.write(topic, ['behind it']);
    await becomesReadable(world, topic, ['0:behind it']);
    await world.rejects(transaction.commit(), ProducerFencedError);
    await world.within(transaction.abort(), 'the abort, which has happened already');
    await world.rejects(producer.transaction(), ProducerFencedError);
  });

  suite.needing('transactions', 'unplug')(
    'a cut line in between breaks nothing: it goes on where it was',
    async (world) => {
      const topic = await world.topic();
      const driver = await world.process();
      const transaction = await transactional(world, {}, driver).transaction();
      await transaction.send([{ topic, value: 'before' }]);
      const plugIn = await world.ability('unplug')(driver);
      const sent = transaction.send([{ topic, value: 'after' }]);
      await world.staysPending(sent, 'A send without a line');
      await plugIn();
      await world.within(sent, 'the record');
      await world.within(transaction.commit(), 'the commit');
      await becomesReadable(world, topic, ['0:before', '0:after']);
    },
  );
}

function transactional(
  world: World,
  options: ProducerOptions = {},
  driver: BrokerDriver = world.driver,
): ProducerSession {
  return driver.producer({ transactionalId: world.name('tx'), ...options });
}

/** A transaction with a record in each of two partitions and an offset of a group. */
async function begun(world: World) {
  const [topic, source, groupId] = [await world.topic(2), await world.topic(), world.name('group')];
  const { session } = await world.join({ topics: [source], groupId });
  const transaction: Transaction = await world.within(
    transactional(world).transaction(),
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
async function withOffsets(world: World) {
  const [topic, groupId] = [await world.topic(2), world.name('group')];
  await world.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 1 }]);
  const producer = transactional(world);
  const transaction = await world.within(producer.transaction(), 'a transaction');
  const offsets = [0, 1].map((partition) => ({ topic, partition, offset: 3 }));
  await transaction.sendOffsets({ groupId, memberId: '', generation: -1, offsets });
  return { topic, groupId, producer, transaction };
}

/** A transaction can write when the one before it has ended everywhere. */
async function hasEnded(world: World, producer: ProducerSession): Promise<void> {
  const next = await world.within(producer.transaction(), 'the next transaction');
  await world.within(next.send([{ topic: await world.topic(), value: 'v' }]), 'its record');
  await next.abort();
}

/** The broker answers a commit before its end is in every log. */
async function becomesReadable(
  world: World,
  topic: string,
  expected: readonly string[],
): Promise<void> {
  const all = expected.join();
  await world.eventually(
    `exactly ${all} can be read`,
    async () => (await readable(world, topic)).join() === all,
  );
}

/** What a read_committed reader may see, without joining a group. */
async function readable(world: World, topic: string): Promise<string[]> {
  const seen: string[] = [];
  for (const { partition } of await world.admin.watermarks(topic))
    for await (const record of world.admin.readRange(topic, partition, 0, 100))
      seen.push(`${partition}:${String(record.value)}`);
  return seen;
}
