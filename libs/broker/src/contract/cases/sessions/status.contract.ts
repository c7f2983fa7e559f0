import assert from 'node:assert/strict';
import type { SessionStatus } from '../../../port/consumer.js';
import { ClosedError, TopicRecreatedError, UnknownTopicError } from '../../../port/errors.js';
import { valueOf } from '../../member.js';
import { numbered } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';

export function statusContract(suite: ContractSuite): void {
  suite.section('without errors', () => withoutErrors(suite));
  suite.section('with a missing topic', () => missingTopics(suite));
  suite.section('with unreachable brokers', () => unreachable(suite));
}

function withoutErrors({ testCase }: ContractSuite): void {
  testCase('is idle, joining, stable, closed in this order', async (context) => {
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
    const reported = member.statuses
      .map(({ state }) => state)
      .filter((state) => state !== 'retrying');
    const runs = reported.filter((state, index) => state !== reported[index - 1]);
    assert.deepEqual(runs, ['joining', 'stable', 'closed']);
  });

  testCase('a removed listener gets no more statuses, and the others still do', async (context) => {
    const member = context.member({ topics: [await context.topic()] });
    const received: string[] = [];
    const end = member.session.onStatus(({ state }) => received.push(state));
    end();
    await member.start();
    assert.deepEqual(received, []);
    assert.ok(member.statuses.length > 0);
  });

  testCase('is joining again while another member joins, then stable', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const first = await context.join({ topics: [topic], groupId });
    const before = first.statuses.length;
    await context.join({ topics: [topic], groupId, driver: await context.newProcess() });
    await context.eventually('the member is stable again', () => first.isStable());
    const since = first.statuses.slice(before).map(({ state }) => state);
    assert.deepEqual([since[0], since.at(-1)], ['joining', 'stable']);
  });

  testCase("start rejects with the signal's reason", async (context) => {
    const reason = new Error('no time');
    const abort = new AbortController();
    const member = context.member({ topics: [context.name('missing')] });
    const starting = context.failureOf(member.startWithoutDeadline(abort.signal));
    await context.eventually('the member has a status', () => member.statuses.length > 0);
    abort.abort(reason);
    assert.equal(await context.within(starting, 'the start to be aborted'), reason);
  });

  testCase('start rejects with ClosedError if the session is closed meanwhile', async (context) => {
    const member = context.member({ topics: [context.name('missing')] });
    const starting = context.rejects(member.startWithoutDeadline(), ClosedError);
    await context.eventually('the member has a status', () => member.statuses.length > 0);
    await member.close();
    await starting;
  });
}

function missingTopics({ testCase }: ContractSuite): void {
  testCase('start waits, reports the topic, and continues once it is created', async (context) => {
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

  testCase('waiting for a topic does not create it', async (context) => {
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

  testCase(
    'the missing topic of two is named; both are read once it is created',
    async (context) => {
      const [present, missing] = [await context.topic(), context.name('created-later')];
      await context.write(present, ['present']);
      const member = context.member({ topics: [present, missing] });
      const starting = member.start();
      await context.eventually('it is named', () => member.reportedErrors().some(isAbout(missing)));
      assert.ok(!member.reportedErrors().some(isAbout(present)));
      await context.admin.createTopics([{ name: missing, partitions: 1 }]);
      await starting;
      await context.write(missing, ['created']);
      // Records read before the second topic existed are not committed, and may be returned again.
      const seen = new Set<string | null>();
      while (seen.size < 2) for (const value of await member.readValues(1)) seen.add(value);
      assert.deepEqual([...seen].map(String).sort(), ['created', 'present']);
    },
  );

  testCase('other topics continue when one is deleted during the session', async (context) => {
    const [kept, deleted] = [await context.topic(), await context.topic()];
    const member = await context.join({ topics: [kept, deleted] });
    await context.admin.deleteTopics([deleted]);
    await context.write(kept, numbered(3));
    assert.deepEqual(await member.readValues(3), numbered(3));
  });

  testCase('a recreated topic is never continued at the old offset', async (context) => {
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

  testCase('the topic id distinguishes a recreated topic', async (context) => {
    const topic = await context.topic();
    const member = await context.join({ topics: [topic] });
    const [described] = await context.admin.topics([topic]);
    assert.equal(member.session.topicId(topic), described?.id);
    assert.equal(member.session.topicId('foreign'), null);
  });
}

function unreachable({ requiring }: ContractSuite): void {
  const testCase = requiring('unplug');

  testCase(
    'start waits, reports the error, and continues once a broker is reachable',
    async (context) => {
      const topic = await context.topic();
      await context.write(topic, ['here']);
      const driver = await context.newProcess();
      const reconnect = await context.ability('unplug')(driver);
      const member = context.member({ topics: [topic], driver });
      const starting = member.start();
      await context.eventually('it retries', () => member.session.status.state === 'retrying');
      await reconnect();
      await starting;
      assert.deepEqual(await member.readValues(1), ['here']);
    },
  );

  testCase('a stable session reports the error, and loses no record', async (context) => {
    const topic = await context.topic();
    const driver = await context.newProcess();
    const member = await context.join({ topics: [topic], driver });
    const poll = member.session.poll(1);
    const reconnect = await context.ability('unplug')(driver);
    await context.eventually('it retries', () => member.session.status.state === 'retrying');
    await context.write(topic, ['meanwhile']);
    await reconnect();
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
