import assert from 'node:assert/strict';
import { FencedError } from '../../port/errors.js';
import { Deferred } from '../../runtime/waiting.js';
import { readsAndCommits } from '../going-on.js';
import { joinTogether, sharedOut } from '../group.js';
import { valueOf, type Member } from '../member.js';
import { numbered } from '../numbered.js';
import { nameOf, namesOf } from '../partition-name.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

const assignors = ['cooperative-sticky'] as const;

export function cooperativeContract(suite: ContractSuite): void {
  suite.chapter('only what moves', () => whatMoves(suite));
  suite.chapter('while others are waited for', () => meanwhile(suite));
  suite.chapter('together with eager members', () => mixed(suite));
}

function whatMoves({ needing }: ContractSuite): void {
  const promise = needing('cooperative-sticky');

  promise('is revoked when one joins, and assigned when one leaves', async (world) => {
    const [topic, groupId] = [await world.topic(4), world.name('group')];
    const options = { topics: [topic], groupId, assignors };
    const first = await world.join(options);
    const second = await world.join({ ...options, driver: await world.process() });
    await sharedOut(world, [first, second], namesOf(topic, 4));
    const moved = second.owned();
    assert.deepEqual(first.told('revoked').sort(), moved);
    assert.deepEqual(first.told('assigned').sort(), namesOf(topic, 4));
    assert.deepEqual(second.told('assigned').sort(), moved);
    await second.close();
    await sharedOut(world, [first], namesOf(topic, 4));
    assert.deepEqual(first.told('revoked').sort(), moved);
    assert.deepEqual(first.told('assigned').sort(), [...namesOf(topic, 4), ...moved].sort());
    assert.deepEqual(first.told('lost'), []);
  });

  promise('is committed in onRevoked, and its next owner starts there', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    for (const partition of [0, 1]) await world.write(topic, numbered(3), partition);
    const first: Member = world.member({
      topics: [topic],
      groupId,
      assignors,
      on: {
        onRevoked: (partitions) =>
          first.session.commit(partitions.map((each) => ({ ...each, offset: 2 }))),
      },
    });
    await first.start();
    await first.read(6);
    const driver = await world.process();
    const second = await world.join({ topics: [topic], groupId, assignors, driver });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    assert.deepEqual(await second.readValues(1), ['2']);
    const [stays] = first.session.assignment();
    assert.ok(stays);
    assert.equal(first.session.position(stays), 3);
  });

  promise('is fenced for its former owner, and the rest is not', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const options = { topics: [topic], groupId, assignors };
    const first = await world.join(options);
    const all = first.session.assignment().map((each) => ({ ...each, offset: 0 }));
    const second = await world.join({ ...options, driver: await world.process() });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    const error = await world.rejects(first.session.commit(all), FencedError);
    assert.deepEqual(error.partitions.map(nameOf), second.owned());
    assert.deepEqual((await world.admin.groupOffsets(groupId)).map(nameOf), first.owned());
  });

  promise('is at rest again after each of many joins and leaves', async (world) => {
    const [topic, groupId] = [await world.topic(6), world.name('group')];
    const options = { topics: [topic], groupId, assignors };
    const [first, ...others] = await joinTogether(world, 3, options);
    assert.ok(first);
    await sharedOut(world, [first, ...others], namesOf(topic, 6));
    await Promise.all(others.map((member) => member.close()));
    await sharedOut(world, [first], namesOf(topic, 6));
    const more = await joinTogether(world, 2, { ...options, driver: await world.process() });
    await sharedOut(world, [first, ...more], namesOf(topic, 6));
    assert.deepEqual(first.told('lost'), []);
  });
}

function meanwhile({ needing }: ContractSuite): void {
  needing('cooperative-sticky', 'unplug')(
    'what stays is read and committed without delay while a third member never rejoins',
    async (world) => {
      const [topic, groupId] = [await world.topic(2), world.name('group')];
      const waitMs = world.times.sessionTimeoutMs * 3;
      const options = { topics: [topic], groupId, assignors, rebalanceTimeoutMs: waitMs };
      const first = await world.join(options);
      const dying = await world.process();
      // Its session lasts longer than the rebalance: the group waits for it all that time.
      const third = { ...options, sessionTimeoutMs: waitMs * 2, driver: dying };
      const dead = await world.join(third);
      await sharedOut(world, [first, dead], namesOf(topic, 2));
      await world.ability('unplug')(dying);
      const { generation } = first.session;
      const second = world.member({ ...options, driver: await world.process() });
      const joining = second.start();
      await world.eventually('the rebalance begins', () => !first.isStable());
      await readsAndCommits(world, first, topic);
      assert.equal(first.session.generation, generation);
      await joining;
      await sharedOut(world, [first, second], namesOf(topic, 2));
      assert.deepEqual(first.told('lost'), []);
      assert.deepEqual(first.told('revoked').length, 1);
    },
  );

  const promise = needing('cooperative-sticky');

  promise('what stays is read and committed while what moves is handed back', async (world) => {
    const { first, second, topic, gate } = await withSlowRevocation(world);
    await readsAndCommits(world, first, topic);
    assert.deepEqual(second.owned(), []);
    gate.resolve();
    await sharedOut(world, [first, second], namesOf(topic, 2));
    assert.deepEqual(first.told('lost'), []);
  });

  promise('a revocation that never ends loses what moves, and nothing else', async (world) => {
    const { first, second, topic, gate } = await withSlowRevocation(world);
    await sharedOut(world, [first, second], namesOf(topic, 2));
    assert.deepEqual(first.told('lost'), second.owned());
    await readsAndCommits(world, first, topic);
    gate.resolve();
  });

  promise('what is paused stays paused, and where it was', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const options = { topics: [topic], groupId, assignors };
    for (const partition of [0, 1]) await world.write(topic, numbered(2), partition);
    const first = await world.join(options);
    await first.read(4);
    first.session.pause(first.session.assignment());
    const second = await world.join({ ...options, driver: await world.process() });
    await sharedOut(world, [first, second], namesOf(topic, 2));
    const [stays] = first.session.assignment();
    assert.ok(stays);
    assert.deepEqual(first.session.paused().map(nameOf), [nameOf(stays)]);
    await world.write(topic, ['new'], stays.partition);
    const poll = first.session.poll(1);
    await world.staysPending(poll, 'A poll of what is paused');
    first.session.resume([stays]);
    assert.deepEqual((await world.within(poll, 'the record')).map(valueOf), ['new']);
  });
}

function mixed({ needing }: ContractSuite): void {
  const promise = needing('cooperative-sticky', 'sticky', 'range');

  promise('a group becomes cooperative when its last eager member has left', async (world) => {
    const [topic, groupId] = [await world.topic(4), world.name('group')];
    const common = { topics: [topic], groupId };
    const eager = { ...common, assignors: ['sticky', 'range'] as const };
    const former = await joinTogether(world, 2, eager);
    await sharedOut(world, former, namesOf(topic, 4));
    const members: Member[] = [];
    for (const old of former) {
      members.push(await world.join({ ...common, driver: await world.process() }));
      await sharedOut(world, [...members, ...former.slice(members.length - 1)], namesOf(topic, 4));
      await old.close();
    }
    await sharedOut(world, members, namesOf(topic, 4));
    const { protocol } = await world.admin.describeGroup(groupId);
    assert.equal(protocol, 'cooperative-sticky');
    const before = members.map((member) => member.told('revoked').length);
    const third = await world.join({ ...common, driver: await world.process() });
    await sharedOut(world, [...members, third], namesOf(topic, 4));
    const revoked = members.map(
      (member, index) => member.told('revoked').length - (before[index] ?? 0),
    );
    assert.equal(
      revoked.reduce((sum, count) => sum + count, 0),
      third.owned().length,
    );
    for (const member of members) assert.deepEqual(member.told('lost'), []);
  });

  promise('an eager member that joins takes what the others have, once', async (world) => {
    const [topic, groupId] = [await world.topic(4), world.name('group')];
    const common = { topics: [topic], groupId };
    const members = await joinTogether(world, 2, common);
    await sharedOut(world, members, namesOf(topic, 4));
    const driver = await world.process();
    const late = await world.join({ ...common, assignors: ['range'], driver });
    await sharedOut(world, [...members, late], namesOf(topic, 4));
    const lost = members.flatMap((member) => member.told('lost'));
    assert.deepEqual(lost.sort(), namesOf(topic, 4));
    for (const member of members)
      assert.ok(member.reported().some((error) => error instanceof FencedError));
    await late.close();
    await sharedOut(world, members, namesOf(topic, 4));
    assert.equal(members.flatMap((member) => member.told('lost')).length, 4);
  });
}

/** A group in which one partition is about to move, and its owner does not let go until the gate opens. */
async function withSlowRevocation(world: World) {
  const [topic, groupId] = [await world.topic(2), world.name('group')];
  const gate = new Deferred();
  const options = { topics: [topic], groupId, assignors };
  const first = await world.join({ ...options, on: { onRevoked: () => gate.promise } });
  const second = await world.join({ ...options, driver: await world.process() });
  await world.eventually('something is revoked', () => first.told('revoked').length === 1);
  return { first, second, topic, gate };
}
