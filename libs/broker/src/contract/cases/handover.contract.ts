import assert from 'node:assert/strict';
import type { AssignorName } from '../../port/consumer.js';
import { FencedError } from '../../port/errors.js';
import type { BrokerRecord } from '../../port/record.js';
import { Deferred } from '../../runtime/waiting.js';
import { sharedOut } from '../group.js';
import { valueOf, type Member } from '../member.js';
import { numbered } from '../numbered.js';
import { nameOf, namesOf } from '../partition-name.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function handoverContract(suite: ContractSuite): void {
  suite.chapter('in good order', () => orderly(suite));
  suite.chapter('with a callback that takes long', () => slowCallbacks(suite));
  suite.chapter('with a callback that throws', () => throwingCallbacks(suite));
}

function orderly({ promise, needing }: ContractSuite): void {
  for (const assignor of ['sticky', 'cooperative-sticky'] as const)
    needing(assignor)(
      `nothing is lost and nothing repeated by joins and clean leaves with ${assignor}`,
      (world) => joinsAndLeaves(world, assignor),
    );

  promise('each generation is higher than the one before', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const options = { topics: [topic], groupId };
    const first = await world.join(options);
    const before = first.session.generation;
    const second = await world.join({ ...options, driver: await world.process() });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    assert.ok(first.session.generation > before);
    assert.equal(first.session.generation, second.session.generation);
    assert.ok(first.session.memberId !== '' && second.session.memberId !== '');
    assert.notEqual(first.session.memberId, second.session.memberId);
  });

  promise('what is revoked is told before anybody else owns it', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const order: string[] = [];
    const first = world.member({
      topics: [topic],
      groupId,
      on: {
        onRevoked: async () => {
          await world.work(world.times.heartbeatIntervalMs);
          order.push('revoked');
        },
      },
    });
    await first.start();
    const driver = await world.process();
    const next = await world.join({
      topics: [topic],
      groupId,
      driver,
      on: { onAssigned: ({ length }) => void (length > 0 && order.push('assigned')) },
    });
    await sharedOut(world, [first, next], namesOf(topic, 2));
    assert.deepEqual(order, ['revoked', 'assigned']);
  });

  promise('what comes back starts at what was committed meanwhile', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    for (const partition of [0, 1]) await world.write(topic, numbered(10), partition);
    const first = await world.join({ topics: [topic], groupId });
    await first.read(20);
    const second = await world.join({ topics: [topic], groupId, driver: await world.process() });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    const [lent] = second.session.assignment();
    assert.ok(lent);
    await second.session.commit([{ ...lent, offset: 6 }]);
    await second.close();
    await sharedOut(world, [first], namesOf(topic, 2));
    const again: BrokerRecord[] = [];
    const isLent = ({ partition }: BrokerRecord): boolean => partition === lent.partition;
    while (again.length < 4) again.push(...(await first.read(1)).filter(isLent));
    assert.deepEqual(again.map(valueOf), numbered(4, 6));
  });

  promise('groups do not disturb each other: each reads all', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(5));
    const one = await world.join({ topics: [topic] });
    const other = await world.join({ topics: [topic] });
    assert.deepEqual(await one.readValues(5), numbered(5));
    assert.deepEqual(await other.readValues(5), numbered(5));
  });

  promise('a member that does not poll stays a member', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const options = { topics: [topic], groupId };
    const idle = await world.join(options);
    const { memberId, generation } = idle.session;
    await world.work(world.times.sessionTimeoutMs * 1.5);
    assert.deepEqual([idle.session.memberId, idle.session.generation], [memberId, generation]);
    assert.deepEqual(idle.told('lost'), []);
    await world.within(idle.session.commit([{ topic, partition: 0, offset: 0 }]), 'the commit');
  });
}

async function joinsAndLeaves(world: World, assignor: AssignorName): Promise<void> {
  const [topic, groupId] = [await world.topic(4), world.name('group')];
  const members: Member[] = [];
  const add = async (): Promise<void> => {
    const driver = await world.process();
    const member: Member = world.member({
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
      await world.write(topic, numbered(10, written), partition);
    written += 10;
  };
  for (const step of [add, writeSome, add, writeSome, add, writeSome]) await step();
  await members[0]?.close();
  await writeSome();
  await members[2]?.close();
  await writeSome();

  const handled = () => members.flatMap((member) => member.handled);
  await world.eventually('all are read', () => handled().length >= written * 4);
  for (const member of members) await member.stopReading();
  const expected = [0, 1, 2, 3].flatMap((partition) =>
    numbered(written).map((offset) => `${partition}:${offset}`),
  );
  const got = handled().map(({ partition, offset }) => `${partition}:${offset}`);
  assert.deepEqual(got.sort(), expected.sort());
}

function slowCallbacks({ promise }: ContractSuite): void {
  promise('no record comes before onAssigned has ended', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(1));
    const gate = new Deferred();
    const member = world.member({ topics: [topic], on: { onAssigned: () => gate.promise } });
    const starting = member.start();
    await world.eventually('it is being assigned', () => member.events.length > 0);
    const poll = member.session.poll(1);
    await world.staysPending(poll, 'A poll during onAssigned');
    gate.resolve();
    await starting;
    assert.deepEqual((await world.within(poll, 'the record')).map(valueOf), ['0']);
  });

  promise('no record comes after onRevoked has begun', async (world) => {
    const topic = await world.topic();
    const gate = new Deferred();
    const member = world.member({ topics: [topic], on: { onRevoked: () => gate.promise } });
    await member.start();
    const closing = member.close();
    await world.eventually('it is being revoked', () => member.told('revoked').length > 0);
    const poll = world.failureOf(member.session.poll(1));
    await world.write(topic, ['too late']);
    await world.turn();
    gate.resolve();
    await closing;
    assert.ok(await world.within(poll, 'the poll to be rejected'));
  });

  promise('a revocation longer than the session time-out keeps its membership', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const rebalanceTimeoutMs = world.times.sessionTimeoutMs * 4;
    let stored: Promise<void> | undefined;
    const first = world.member({
      topics: [topic],
      groupId,
      rebalanceTimeoutMs,
      on: {
        onRevoked: async (partitions) => {
          if (stored) return;
          await world.work(world.times.sessionTimeoutMs * 1.5);
          stored = first.session.commit(partitions.map((each) => ({ ...each, offset: 0 })));
          await stored;
        },
      },
    });
    await first.start();
    const { memberId } = first.session;
    const driver = await world.process();
    const second = await world.join({ topics: [topic], groupId, rebalanceTimeoutMs, driver });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    await stored;
    assert.deepEqual(first.told('lost'), []);
    assert.equal(first.session.memberId, memberId);
    const offsets = await world.admin.groupOffsets(groupId);
    assert.deepEqual(offsets.map(nameOf).sort(), first.told('revoked').sort());
  });

  promise('a revocation that never ends is not waited for, and is fenced', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const gate = new Deferred();
    const rebalanceTimeoutMs = world.times.sessionTimeoutMs * 1.5;
    const options = { topics: [topic], groupId, rebalanceTimeoutMs };
    const stuck = await world.join({ ...options, on: { onRevoked: () => gate.promise } });
    const driver = await world.process();
    const next = await world.join({ ...options, driver });
    await world.eventually('the next member owns something', () => next.owned().length > 0);
    const [lost] = next.session.assignment();
    assert.ok(lost);
    await world.rejects(stuck.session.commit([{ ...lost, offset: 5 }]), FencedError);
    gate.resolve();
    await world.eventually('the loss is told', () => stuck.told('lost').includes(nameOf(lost)));
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
  });

  promise('a loss that is never dealt with hides nothing that is assigned later', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    await world.write(topic, numbered(1), 0);
    await world.write(topic, numbered(1), 1);
    const never = (): Promise<void> => new Promise(() => undefined);
    const rebalanceTimeoutMs = world.times.sessionTimeoutMs * 1.5;
    // All of it is lost, and some comes back.
    const options = { topics: [topic], groupId, rebalanceTimeoutMs, assignors: ['range' as const] };
    const stuck = await world.join({ ...options, on: { onRevoked: never, onLost: never } });
    const driver = await world.process();
    const next = await world.join({ ...options, driver });
    await world.eventually('the next member owns something', () => next.owned().length > 0);
    const before = stuck.told('assigned').length;
    await world.eventually(
      'the stuck member is told of what it has again',
      () => stuck.told('assigned').length > before,
    );
    assert.deepEqual(await stuck.readValues(1), numbered(1));
  });
}

function throwingCallbacks({ promise }: ContractSuite): void {
  promise('onAssigned: it is reported, and records are given', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(2));
    const thrown = new Error('onAssigned of the user');
    const onAssigned = (): never => {
      throw thrown;
    };
    const member = await world.join({ topics: [topic], on: { onAssigned } });
    assert.deepEqual(await member.readValues(2), numbered(2));
    await world.eventually('it is reported', () => member.reported().includes(thrown));
  });

  promise('onRevoked: it is reported, and the partitions are handed over', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const thrown = new Error('onRevoked of the user');
    const onRevoked = (): Promise<void> => Promise.reject(thrown);
    const first = await world.join({ topics: [topic], groupId, on: { onRevoked } });
    const driver = await world.process();
    const second = await world.join({ topics: [topic], groupId, driver });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    await world.eventually('it is reported', () => first.reported().includes(thrown));
    await first.close();
    await sharedOut(world, [second], namesOf(topic, 2));
  });

  promise('onStopped: the other partitions go on', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    await world.write(topic, numbered(3), 1);
    await world.admin.setGroupOffsets(groupId, [{ topic, partition: 1, offset: 0 }]);
    const onStopped = (): never => {
      throw new Error('onStopped of the user');
    };
    const options = { topics: [topic], groupId, offsetReset: 'none' as const };
    const member = await world.join({ ...options, on: { onStopped } });
    assert.equal((await member.stopped()).partition, 0);
    assert.deepEqual(await member.readValues(3), numbered(3));
  });

  promise('a listener of statuses: nothing happens to the session', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(1));
    const member = world.member({ topics: [topic] });
    member.session.onStatus(() => {
      throw new Error('status listener of the user');
    });
    await member.start();
    assert.deepEqual(await member.readValues(1), numbered(1));
  });
}
