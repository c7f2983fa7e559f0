import assert from 'node:assert/strict';
import type { AssignorName } from '../../../port/consumer.js';
import { FencedError } from '../../../port/errors.js';
import type { BrokerRecord } from '../../../port/record.js';
import { Deferred } from '../../../runtime/waiting.js';
import { waitUntilShared } from '../../group.js';
import { valueOf, type Member } from '../../member.js';
import { numbered } from '../../test-values.js';
import { partitionName } from '../../../port/topic-partition.js';
import { namesOfPartitions } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function handoverContract(suite: ContractSuite): void {
  suite.section('in order', () => orderlyHandover(suite));
  suite.section('with a slow callback', () => slowCallbacks(suite));
  suite.section('with a callback that throws', () => throwingCallbacks(suite));
}

function orderlyHandover({ testCase, requiring }: ContractSuite): void {
  for (const assignor of ['sticky', 'cooperative-sticky'] as const)
    requiring(assignor)(
      `joins and clean leaves neither lose nor repeat a record with ${assignor}`,
      (context) => joinsAndLeaves(context, assignor),
    );

  testCase('the generation increases with every rebalance', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const options = { topics: [topic], groupId };
    const first = await context.join(options);
    const before = first.session.generation;
    const second = await context.join({ ...options, driver: await context.newProcess() });
    await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
    assert.ok(first.session.generation > before);
    assert.equal(first.session.generation, second.session.generation);
    assert.ok(first.session.memberId !== '' && second.session.memberId !== '');
    assert.notEqual(first.session.memberId, second.session.memberId);
  });

  testCase('onRevoked ends before another member owns the partition', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const order: string[] = [];
    const first = context.member({
      topics: [topic],
      groupId,
      on: {
        onRevoked: async () => {
          await context.work(context.times.heartbeatIntervalMs);
          order.push('revoked');
        },
      },
    });
    await first.start();
    const driver = await context.newProcess();
    const next = await context.join({
      topics: [topic],
      groupId,
      driver,
      on: { onAssigned: ({ length }) => void (length > 0 && order.push('assigned')) },
    });
    await waitUntilShared(context, [first, next], namesOfPartitions(topic, 2));
    assert.deepEqual(order, ['revoked', 'assigned']);
  });

  testCase('a partition that returns starts at the offset committed meanwhile', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    for (const partition of [0, 1]) await context.write(topic, numbered(10), partition);
    const first = await context.join({ topics: [topic], groupId });
    await first.read(20);
    const second = await context.join({
      topics: [topic],
      groupId,
      driver: await context.newProcess(),
    });
    await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
    const [lent] = second.session.assignment();
    assert.ok(lent);
    await second.session.commit([{ ...lent, offset: 6 }]);
    await second.close();
    await waitUntilShared(context, [first], namesOfPartitions(topic, 2));
    const again: BrokerRecord[] = [];
    const isLent = ({ partition }: BrokerRecord): boolean => partition === lent.partition;
    while (again.length < 4) again.push(...(await first.read(1)).filter(isLent));
    assert.deepEqual(again.map(valueOf), numbered(4, 6));
  });

  testCase('groups read all records independently of each other', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(5));
    const one = await context.join({ topics: [topic] });
    const other = await context.join({ topics: [topic] });
    assert.deepEqual(await one.readValues(5), numbered(5));
    assert.deepEqual(await other.readValues(5), numbered(5));
  });

  testCase('a member that does not poll stays in the group', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const options = { topics: [topic], groupId };
    const idle = await context.join(options);
    const { memberId, generation } = idle.session;
    await context.work(context.times.sessionTimeoutMs * 1.5);
    assert.deepEqual([idle.session.memberId, idle.session.generation], [memberId, generation]);
    assert.deepEqual(idle.eventsOf('lost'), []);
    await context.within(idle.session.commit([{ topic, partition: 0, offset: 0 }]), 'the commit');
  });
}

async function joinsAndLeaves(context: CaseContext, assignor: AssignorName): Promise<void> {
  const [topic, groupId] = [await context.topic(4), context.name('group')];
  const members: Member[] = [];
  const add = async (): Promise<void> => {
    const driver = await context.newProcess();
    const member: Member = context.member({
      topics: [topic],
      assignors: [assignor],
      groupId,
      driver,
      on: { onRevoked: (partitions) => member.commitHandled(partitions) },
    });
    await member.start();
    member.keepReading();
    members.push(member);
  };
  let written = 0;
  const writeSome = async (): Promise<void> => {
    for (const partition of [0, 1, 2, 3])
      await context.write(topic, numbered(10, written), partition);
    written += 10;
  };
  for (const step of [add, writeSome, add, writeSome, add, writeSome]) await step();
  await members[0]?.close();
  await writeSome();
  await members[2]?.close();
  await writeSome();

  const handled = () => members.flatMap((member) => member.handled);
  await context.eventually('all are read', () => handled().length >= written * 4);
  for (const member of members) await member.stopReading();
  const expected = [0, 1, 2, 3].flatMap((partition) =>
    numbered(written).map((offset) => `${partition}:${offset}`),
  );
  const got = handled().map(({ partition, offset }) => `${partition}:${offset}`);
  assert.deepEqual(got.sort(), expected.sort());
}

function slowCallbacks({ testCase }: ContractSuite): void {
  testCase('records are returned only after onAssigned has ended', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(1));
    const gate = new Deferred();
    const member = context.member({ topics: [topic], on: { onAssigned: () => gate.promise } });
    const starting = member.start();
    await context.eventually('it is being assigned', () => member.events.length > 0);
    const poll = member.session.poll(1);
    await context.staysPending(poll, 'A poll during onAssigned');
    gate.resolve();
    await starting;
    assert.deepEqual((await context.within(poll, 'the record')).map(valueOf), ['0']);
  });

  testCase('records are not returned after onRevoked has started', async (context) => {
    const topic = await context.topic();
    const gate = new Deferred();
    const member = context.member({ topics: [topic], on: { onRevoked: () => gate.promise } });
    await member.start();
    const closing = member.close();
    await context.eventually('it is being revoked', () => member.eventsOf('revoked').length > 0);
    const poll = context.failureOf(member.session.poll(1));
    await context.write(topic, ['too late']);
    await context.yieldToEventLoop();
    gate.resolve();
    await closing;
    assert.ok(await context.within(poll, 'the poll to be rejected'));
  });

  testCase(
    'a member stays in the group during a revocation longer than the session timeout',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      const rebalanceTimeoutMs = context.times.sessionTimeoutMs * 4;
      let stored: Promise<void> | undefined;
      const first = context.member({
        topics: [topic],
        groupId,
        rebalanceTimeoutMs,
        on: {
          onRevoked: async (partitions) => {
            if (stored) return;
            await context.work(context.times.sessionTimeoutMs * 1.5);
            stored = first.session.commit(partitions.map((each) => ({ ...each, offset: 0 })));
            await stored;
          },
        },
      });
      await first.start();
      const { memberId } = first.session;
      const driver = await context.newProcess();
      const second = await context.join({ topics: [topic], groupId, rebalanceTimeoutMs, driver });
      await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
      await stored;
      assert.deepEqual(first.eventsOf('lost'), []);
      assert.equal(first.session.memberId, memberId);
      const offsets = await context.admin.groupOffsets(groupId);
      assert.deepEqual(offsets.map(partitionName).sort(), first.eventsOf('revoked').sort());
    },
  );

  testCase('a revocation that never ends is not waited for, and is fenced', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const gate = new Deferred();
    const rebalanceTimeoutMs = context.times.sessionTimeoutMs * 1.5;
    const options = { topics: [topic], groupId, rebalanceTimeoutMs };
    const stuck = await context.join({ ...options, on: { onRevoked: () => gate.promise } });
    const driver = await context.newProcess();
    const next = await context.join({ ...options, driver });
    await context.eventually('the next member owns something', () => next.owned().length > 0);
    const [lost] = next.session.assignment();
    assert.ok(lost);
    await context.rejects(stuck.session.commit([{ ...lost, offset: 5 }]), FencedError);
    gate.resolve();
    await context.eventually('onLost is called', () =>
      stuck.eventsOf('lost').includes(partitionName(lost)),
    );
    assert.deepEqual(await context.admin.groupOffsets(groupId), []);
  });

  testCase('an onLost that never ends does not hide a later assignment', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    await context.write(topic, numbered(1), 0);
    await context.write(topic, numbered(1), 1);
    const never = (): Promise<void> => new Promise(() => undefined);
    const rebalanceTimeoutMs = context.times.sessionTimeoutMs * 1.5;
    // The members lose all partitions, and get some of them back.
    const options = {
      topics: [topic],
      groupId,
      rebalanceTimeoutMs,
      assignors: ['range' as const],
    };
    const stuck = await context.join({ ...options, on: { onRevoked: never, onLost: never } });
    const driver = await context.newProcess();
    const next = await context.join({ ...options, driver });
    await context.eventually('the next member owns something', () => next.owned().length > 0);
    const before = stuck.eventsOf('assigned').length;
    await context.eventually(
      'the blocked member gets its new assignment',
      () => stuck.eventsOf('assigned').length > before,
    );
    assert.deepEqual(await stuck.readValues(1), numbered(1));
  });
}

function throwingCallbacks({ testCase }: ContractSuite): void {
  testCase('an error in onAssigned is reported, and records are returned', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(2));
    const thrown = new Error('onAssigned of the user');
    const onAssigned = (): never => {
      throw thrown;
    };
    const member = await context.join({ topics: [topic], on: { onAssigned } });
    assert.deepEqual(await member.readValues(2), numbered(2));
    await context.eventually('it is reported', () => member.reportedErrors().includes(thrown));
  });

  testCase(
    'an error in onRevoked is reported, and the partitions are handed over',
    async (context) => {
      const [topic, groupId] = [await context.topic(2), context.name('group')];
      const thrown = new Error('onRevoked of the user');
      const onRevoked = (): Promise<void> => Promise.reject(thrown);
      const first = await context.join({ topics: [topic], groupId, on: { onRevoked } });
      const driver = await context.newProcess();
      const second = await context.join({ topics: [topic], groupId, driver });
      await waitUntilShared(context, [first, second], namesOfPartitions(topic, 2));
      await context.eventually('it is reported', () => first.reportedErrors().includes(thrown));
      await first.close();
      await waitUntilShared(context, [second], namesOfPartitions(topic, 2));
    },
  );

  testCase('an error in onStopped does not affect the other partitions', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    await context.write(topic, numbered(3), 1);
    await context.admin.setGroupOffsets(groupId, [{ topic, partition: 1, offset: 0 }]);
    const onStopped = (): never => {
      throw new Error('onStopped of the user');
    };
    const options = { topics: [topic], groupId, offsetReset: 'none' as const };
    const member = await context.join({ ...options, on: { onStopped } });
    assert.equal((await member.stoppedError()).partition, 0);
    assert.deepEqual(await member.readValues(3), numbered(3));
  });

  testCase('an error in a status listener does not affect the session', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(1));
    const member = context.member({ topics: [topic] });
    member.session.onStatus(() => {
      throw new Error('status listener of the user');
    });
    await member.start();
    assert.deepEqual(await member.readValues(1), numbered(1));
  });
}
