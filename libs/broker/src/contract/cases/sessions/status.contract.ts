import assert from 'node:assert/strict';
import type { SessionStatus } from '../../../port/consumer.js';
import { ClosedError, TopicRecreatedError, UnknownTopicError } from '../../../port/errors.js';
import { valueOf } from '../../member.js';
import { numbered } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';

export function statusContract(suite: ContractSuite): void {
  suite.section('on a good day', () => withoutErrors(suite));
  suite.section('while a topic is missing', () => missingTopics(suite));
  suite.section('while no broker can be reached', () => unreachable(suite));
}

function withoutErrors({ testCase }: ContractSuite): void {
  testCase('idle, joining, stable, closed', async (context) => {
    const member = context.member({ topics: [await context.topic()] });
    assert.deepEqual(member.session.status, { state: 'idle' });
    await member.start();
    const status: SessionStatus = member.session.status;
    assert.ok(status.state === 'stable', status.state);
    assert.equal(status.generation, member.session.generation);
    assert.ok(status.since <= context.runtime.now());
    await member.close();
    assert.equal(member.session.status.state, 'closed');
    // A cluster that has just started may have no coordinator for the first group.
    const told = member.statuses.map(({ state }) => state).filter((state) => state !== 'retrying');
    const runs = told.filter((state, index) => state !== told[index - 1]);
    assert.deepEqual(runs, ['joining', 'stable', 'closed']);
  });

  testCase('ends a subscription, and only that', async (context) => {
    const member = context.member({ topics: [await context.topic()] });
    const heard: string[] = [];
    const end = member.session.onStatus(({ state }) => heard.push(state));
    end();
    await member.start();
    assert.deepEqual(heard, []);
    assert.ok(member.statuses.length > 0);
  });

  testCase('joining again while another member joins, then stable', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const first = await context.join({ topics: [topic], groupId });
    const before = first.statuses.length;
    await context.join({ topics: [topic], groupId, driver: await context.newProcess() });
    await context.eventually('it is stable again', () => first.isStable());
    const since = first.statuses.slice(before).map(({ state }) => state);
    assert.deepEqual([since[0], since.at(-1)], ['joining', 'stable']);
  });

  testCase("start rejects with the signal's reason", async (context) => {
    const reason = new Error('no time');
    const abort = new AbortController();
    const member = context.member({ topics: [context.name('missing')] });
    const starting = context.failureOf(member.startWithoutDeadline(abort.signal));
    await context.eventually('it has begun', () => member.statuses.length > 0);
    abort.abort(reason);
    assert.equal(await context.within(starting, 'the start to be aborted'), reason);
  });

  testCase('start rejects with ClosedError when closed meanwhile', async (context) => {
    const member = context.member({ topics: [context.name('missing')] });
    const starting = context.rejects(member.startWithoutDeadline(), ClosedError);
    await context.eventually('it has begun', () => member.statuses.length > 0);
    await member.close();
    await starting;
  });
}

function missingTopics({ testCase }: ContractSuite): void {
  testCase('start waits, says so, and goes on once it is created', async (context) => {
    const topic = context.name('created-later');
    const member = context.member({ topics: [topic] });
    const starting = member.start();
    await context.eventually('it reports the topic', () =>
      member.reportedErrors().some(isAbout(topic)),
    );
    assert.ok(member.statuses.some(({ state }) => state === 'retrying'));
    await context.staysPending(starting, 'The start without its topic');
    await context.admin.createTopics([{ name: topic, partitions: 1 }]);
    await starting;
    await context.write(topic, ['here']);
    assert.deepEqual(await member.readValues(1), ['here']);
    assert.equal(member.session.status.state, 'stable');
  });

  testCase('asking for it does not create it', async (context) => {
    const topic = context.name('never-created');
    const member = context.member({ topics: [topic] });
    const starting = context.failureOf(member.startWithoutDeadline());
    await context.eventually('it reports the topic', () =>
      member.reportedErrors().some(isAbout(topic)),
    );
    assert.deepEqual(await context.admin.topics([topic]), []);
    await member.close();
    await context.within(starting, 'the start to end');
  });

  testCase('one of two is named; both are read once it is created', async (context) => {
    const [present, missing] = [await context.topic(), context.name('created-later')];
    await context.write(present, ['present']);
    const member = context.member({ topics: [present, missing] });
    const starting = member.start();
    await context.eventually('it is named', () => member.reportedErrors().some(isAbout(missing)));
    assert.ok(!member.reportedErrors().some(isAbout(present)));
    await context.admin.createTopics([{ name: missing, partitions: 1 }]);
    await starting;
    await context.write(missing, ['created']);
    // What was read before the second topic came is not committed, and may come again.
    const seen = new Set<string | null>();
    while (seen.size < 2) for (const value of await member.readValues(1)) seen.add(value);
    assert.deepEqual([...seen].map(String).sort(), ['created', 'present']);
  });

  testCase('the others go on when one is deleted under the session', async (context) => {
    const [kept, deleted] = [await context.topic(), await context.topic()];
    const member = await context.join({ topics: [kept, deleted] });
    await context.admin.deleteTopics([deleted]);
    await context.write(kept, numbered(3));
    assert.deepEqual(await member.readValues(3), numbered(3));
  });

  testCase('a successor of the same name is never read on from the middle', async (context) => {
    const topic = await context.topic();
    await context.write(topic, numbered(5));
    const member = context.member({
      topics: [topic],
      on: {
        onStopped: (error) => {
          if (error instanceof TopicRecreatedError) member.session.seek(error, 0);
        },
      },
    });
    await member.start();
    await member.read(5);
    await context.admin.deleteTopics([topic]);
    await context.eventually(
      'its successor is created',
      async () => (await context.admin.createTopics([{ name: topic }]))[0]?.changed === true,
    );
    const successors = numbered(10).map((value) => `new ${value}`);
    await context.write(topic, successors);
    assert.deepEqual(await member.readValues(10), successors);
  });

  testCase('its id tells a topic from its successor of the same name', async (context) => {
    const topic = await context.topic();
    const member = await context.join({ topics: [topic] });
    const [described] = await context.admin.topics([topic]);
    assert.equal(member.session.topicId(topic), described?.id);
    assert.equal(member.session.topicId('foreign'), null);
  });
}

function unreachable({ requiring }: ContractSuite): void {
  const testCase = requiring('unplug');

  testCase('start waits, says so, and goes on once it can', async (context) => {
    const topic = await context.topic();
    await context.write(topic, ['here']);
    const driver = await context.newProcess();
    const plugIn = await context.ability('unplug')(driver);
    const member = context.member({ topics: [topic], driver });
    const starting = member.start();
    await context.eventually('it retries', () => member.session.status.state === 'retrying');
    await plugIn();
    await starting;
    assert.deepEqual(await member.readValues(1), ['here']);
  });

  testCase('a stable session says so, and loses nothing by it', async (context) => {
    const topic = await context.topic();
    const driver = await context.newProcess();
    const member = await context.join({ topics: [topic], driver });
    const poll = member.session.poll(1);
    const plugIn = await context.ability('unplug')(driver);
    await context.eventually('it retries', () => member.session.status.state === 'retrying');
    await context.write(topic, ['meanwhile']);
    await plugIn();
    assert.deepEqual((await context.within(poll, 'the record')).map(valueOf), ['meanwhile']);
    await context.eventually('it is stable', () => member.isStable());
  });

  testCase('a session and its driver can still be closed', async (context) => {
    const topic = await context.topic();
    const driver = await context.newProcess();
    const member = await context.join({ topics: [topic], driver });
    await context.ability('unplug')(driver);
    await member.close();
    assert.equal(member.session.status.state, 'closed');
    await context.within(driver.close(), 'the driver to close');
  });
}

function isAbout(topic: string): (error: Error) => boolean {
  return (error) => error instanceof UnknownTopicError && error.topic === topic;
}
