import assert from 'node:assert/strict';
import { ClosedError } from '../../port/errors.js';
import { numbered } from '../numbered.js';
import type { ContractSuite } from '../suite.js';

export function lifetimeContract(suite: ContractSuite): void {
  sessions(suite);
  drivers(suite);
}

function sessions({ promise, needing }: ContractSuite): void {
  promise('a session closes once, however often it is asked', async (world) => {
    const member = await world.join({ topics: [await world.topic()] });
    await Promise.all([member.close(), member.close(), member.close()]);
    await member.close();
    assert.equal(member.told('revoked').length, 1);
    assert.equal(member.statuses.filter(({ state }) => state === 'closed').length, 1);
    assert.deepEqual([member.session.assignment(), member.told('lost')], [[], []]);
  });

  promise('a session that never started closes too', async (world) => {
    const member = world.member({ topics: [await world.topic()] });
    await member.close();
    assert.deepEqual(member.events, []);
    await world.rejects(member.begin(), ClosedError);
  });

  promise('nothing is told after close has resolved', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const leaver = await world.join({ topics: [topic], groupId });
    await leaver.close();
    const told = [leaver.events.length, leaver.statuses.length];
    const driver = await world.process();
    const next = await world.join({ topics: [topic], groupId, driver });
    await world.write(topic, numbered(3));
    await next.read(3);
    assert.deepEqual([leaver.events.length, leaver.statuses.length], told);
  });

  promise('close leaves the group at once: nobody waits for the time-out', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    const options = { topics: [topic], groupId, sessionTimeoutMs: 10_000 };
    const leaver = await world.join(options);
    await leaver.close();
    const before = world.runtime.monotonic();
    await world.join({ ...options, driver: await world.process() });
    const took = world.runtime.monotonic() - before;
    assert.ok(took < 5_000, `the next member waited ${took} ms`);
  });

  promise('close waits for a commit that is under way', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    const member = await world.join({ topics: [topic], groupId });
    const commit = member.session.commit([{ topic, partition: 0, offset: 3 }]);
    const settled = world.failureOf(commit);
    await member.close();
    const failure = await world.within(settled, 'the commit to settle');
    const [stored] = await world.admin.groupOffsets(groupId);
    assert.equal(stored?.offset, failure === undefined ? 3 : undefined);
  });

  needing('loseCoordinator')('a session outlives the loss of its coordinator', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    await world.write(topic, numbered(5));
    const member = await world.join({ topics: [topic], groupId });
    await member.read(2);
    await world.ability('loseCoordinator')(groupId);
    await world.within(
      member.session.commit([{ topic, partition: 0, offset: 2 }]),
      'the commit to find the coordinator',
    );
    assert.deepEqual(await member.readValues(3), ['2', '3', '4']);
    assert.deepEqual(member.told('lost'), []);
    assert.equal((await world.admin.groupOffsets(groupId))[0]?.offset, 2);
  });
}

function drivers({ promise }: ContractSuite): void {
  promise('a driver says of itself what it was said to be able to', (world) => {
    assert.deepEqual(world.driver.capabilities, world.fixture.capabilities);
    assert.notEqual(world.driver.name, '');
    return Promise.resolve();
  });

  promise('a driver closes all it has handed out', async (world) => {
    const topic = await world.topic();
    const driver = await world.process();
    const member = await world.join({ topics: [topic], driver });
    const [producer, admin] = [driver.producer(), driver.admin()];
    await world.within(producer.send([{ topic, value: 'v' }]), 'a record');
    await world.within(driver.close(), 'the driver to close');
    assert.equal(member.session.status.state, 'closed');
    assert.equal(member.told('revoked').length, 1);
    await world.rejects(member.session.poll(1), ClosedError);
    await world.rejects(producer.send([{ topic, value: 'v' }]), ClosedError);
    await world.rejects(admin.topics(), ClosedError);
  });

  promise('a driver closes once, however often it is asked', async (world) => {
    const driver = await world.process();
    const member = await world.join({ topics: [await world.topic()], driver });
    await world.within(Promise.all([driver.close(), driver.close()]), 'the driver to close');
    await world.within(driver.close(), 'the driver to close again');
    assert.equal(member.told('revoked').length, 1);
  });

  promise('a closed driver hands out nothing', async (world) => {
    const driver = await world.process();
    await driver.close();
    const options = { groupId: world.name('group'), topics: ['topic'] };
    assert.throws(() => driver.consumer(options), ClosedError);
    assert.throws(() => driver.producer(), ClosedError);
    assert.throws(() => driver.admin(), ClosedError);
  });

  promise('closing one driver leaves the others alone', async (world) => {
    const topic = await world.topic();
    const [one, other] = [await world.process(), await world.process()];
    const member = await world.join({ topics: [topic], driver: one });
    await world.join({ topics: [topic], driver: other });
    await world.within(other.close(), 'the other driver to close');
    await world.write(topic, ['still here']);
    assert.deepEqual(await member.readValues(1), ['still here']);
  });

  promise('a producer or an admin closes once, however often it is asked', async (world) => {
    const [producer, admin] = [world.producer(), world.driver.admin()];
    await world.within(
      Promise.all([producer.close(), producer.close(), admin.close(), admin.close()]),
      'all to close',
    );
    await world.rejects(admin.cluster(), ClosedError);
  });
}
