import assert from 'node:assert/strict';
import { ClosedError } from '../../../port/errors.js';
import { numbered } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';

export function lifetimeContract(suite: ContractSuite): void {
  sessions(suite);
  drivers(suite);
}

function sessions({ testCase, requiring }: ContractSuite): void {
  testCase('calling close repeatedly closes a session once', async (context) => {
    const member = await context.join({ topics: [await context.topic()] });
    await Promise.all([member.close(), member.close(), member.close()]);
    await member.close();
    assert.equal(member.eventsOf('revoked').length, 1);
    assert.equal(member.statuses.filter(({ state }) => state === 'closed').length, 1);
    assert.deepEqual([member.session.assignment(), member.eventsOf('lost')], [[], []]);
  });

  testCase('a session that never started can be closed', async (context) => {
    const member = context.member({ topics: [await context.topic()] });
    await member.close();
    assert.deepEqual(member.events, []);
    await context.rejects(member.startWithoutDeadline(), ClosedError);
  });

  testCase('callbacks do not run after close has resolved', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const leaver = await context.join({ topics: [topic], groupId });
    await leaver.close();
    const reported = [leaver.events.length, leaver.statuses.length];
    const driver = await context.newProcess();
    const next = await context.join({ topics: [topic], groupId, driver });
    await context.write(topic, numbered(3));
    await next.read(3);
    assert.deepEqual([leaver.events.length, leaver.statuses.length], reported);
  });

  testCase(
    'close leaves the group at once, so that the other members do not wait for the session timeout',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      const options = { topics: [topic], groupId, sessionTimeoutMs: 10_000 };
      const leaver = await context.join(options);
      await leaver.close();
      const before = context.runtime.monotonic();
      await context.join({ ...options, driver: await context.newProcess() });
      const took = context.runtime.monotonic() - before;
      assert.ok(took < 5_000, `the next member waited ${took} ms`);
    },
  );

  testCase('close waits for a pending commit', async (context) => {
    const [topic, groupId] = [await context.topic(), context.name('group')];
    const member = await context.join({ topics: [topic], groupId });
    const commit = member.session.commit([{ topic, partition: 0, offset: 3 }]);
    const settled = context.failureOf(commit);
    await member.close();
    const failure = await context.within(settled, 'the commit to settle');
    const [stored] = await context.admin.groupOffsets(groupId);
    assert.equal(stored?.offset, failure === undefined ? 3 : undefined);
  });

  requiring('loseCoordinator')(
    'a session commits and reads after the group has lost its coordinator',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      await context.write(topic, numbered(5));
      const member = await context.join({ topics: [topic], groupId });
      await member.read(2);
      await context.ability('loseCoordinator')(groupId);
      await context.within(
        member.session.commit([{ topic, partition: 0, offset: 2 }]),
        'the commit to find the coordinator',
      );
      assert.deepEqual(await member.readValues(3), ['2', '3', '4']);
      assert.deepEqual(member.eventsOf('lost'), []);
      assert.equal((await context.admin.groupOffsets(groupId))[0]?.offset, 2);
    },
  );
}

function drivers({ testCase }: ContractSuite): void {
  testCase('a driver has the capabilities that the fixture declares', (context) => {
    assert.deepEqual(context.driver.capabilities, context.fixture.capabilities);
    assert.notEqual(context.driver.name, '');
    return Promise.resolve();
  });

  testCase('close of a driver closes all its sessions', async (context) => {
    const topic = await context.topic();
    const driver = await context.newProcess();
    const member = await context.join({ topics: [topic], driver });
    const [producer, admin] = [driver.producer(), driver.admin()];
    await context.within(producer.send([{ topic, value: 'v' }]), 'a record');
    await context.within(driver.close(), 'the driver to close');
    assert.equal(member.session.status.state, 'closed');
    assert.equal(member.eventsOf('revoked').length, 1);
    await context.rejects(member.session.poll(1), ClosedError);
    await context.rejects(producer.send([{ topic, value: 'v' }]), ClosedError);
    await context.rejects(admin.topics(), ClosedError);
  });

  testCase('calling close repeatedly closes a driver once', async (context) => {
    const driver = await context.newProcess();
    const member = await context.join({ topics: [await context.topic()], driver });
    await context.within(Promise.all([driver.close(), driver.close()]), 'the driver to close');
    await context.within(driver.close(), 'the driver to close again');
    assert.equal(member.eventsOf('revoked').length, 1);
  });

  testCase('a closed driver refuses to create sessions', async (context) => {
    const driver = await context.newProcess();
    await driver.close();
    const options = { groupId: context.name('group'), topics: ['topic'] };
    assert.throws(() => driver.consumer(options), ClosedError);
    assert.throws(() => driver.producer(), ClosedError);
    assert.throws(() => driver.admin(), ClosedError);
  });

  testCase('close of one driver does not affect other drivers', async (context) => {
    const topic = await context.topic();
    const [one, other] = [await context.newProcess(), await context.newProcess()];
    const member = await context.join({ topics: [topic], driver: one });
    await context.join({ topics: [topic], driver: other });
    await context.within(other.close(), 'the other driver to close');
    await context.write(topic, ['still here']);
    assert.deepEqual(await member.readValues(1), ['still here']);
  });

  testCase('calling close repeatedly closes a producer or an admin once', async (context) => {
    const [producer, admin] = [context.producer(), context.driver.admin()];
    await context.within(
      Promise.all([producer.close(), producer.close(), admin.close(), admin.close()]),
      'all to close',
    );
    await context.rejects(admin.cluster(), ClosedError);
  });
}
