import assert from 'node:assert/strict';
import type { SessionStatus } from '../../port/consumer.js';
import { ClosedError, TopicRecreatedError, UnknownTopicError } from '../../port/errors.js';
import { valueOf } from '../member.js';
import { numbered } from '../numbered.js';
import type { ContractSuite } from '../suite.js';

export function statusContract(suite: ContractSuite): void {
  suite.chapter('on a good day', () => goodDay(suite));
  suite.chapter('while a topic is missing', () => missingTopics(suite));
  suite.chapter('while no broker can be reached', () => unreachable(suite));
}

function goodDay({ promise }: ContractSuite): void {
  promise('idle, joining, stable, closed', async (world) => {
    const member = world.member({ topics: [await world.topic()] });
    assert.deepEqual(member.session.status, { state: 'idle' });
    await member.start();
    const status: SessionStatus = member.session.status;
    assert.ok(status.state === 'stable', status.state);
    assert.equal(status.generation, member.session.generation);
    assert.ok(status.since <= world.runtime.now());
    await member.close();
    assert.equal(member.session.status.state, 'closed');
    // A cluster that has just started may have no coordinator for the first group.
    const told = member.statuses.map(({ state }) => state).filter((state) => state !== 'retrying');
    const runs = told.filter((state, index) => state !== told[index - 1]);
    assert.deepEqual(runs, ['joining', 'stable', 'closed']);
  });

  promise('ends a subscription, and only that', async (world) => {
    const member = world.member({ topics: [await world.topic()] });
    const heard: string[] = [];
    const end = member.session.onStatus(({ state }) => heard.push(state));
    end();
    await member.start();
    assert.deepEqual(heard, []);
    assert.ok(member.statuses.length > 0);
  });

  promise('joining again while another member joins, then stable', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const first = await world.join({ topics: [topic], groupId });
    const before = first.statuses.length;
    await world.join({ topics: [topic], groupId, driver: await world.process() });
    await world.eventually('it is stable again', () => first.isStable());
    const since = first.statuses.slice(before).map(({ state }) => state);
    assert.deepEqual([since[0], since.at(-1)], ['joining', 'stable']);
  });

  promise("start rejects with the signal's reason", async (world) => {
    const reason = new Error('no time');
    const abort = new AbortController();
    const member = world.member({ topics: [world.name('missing')] });
    const starting = world.failureOf(member.begin(abort.signal));
    await world.eventually('it has begun', () => member.statuses.length > 0);
    abort.abort(reason);
    assert.equal(await world.within(starting, 'the start to be aborted'), reason);
  });

  promise('start rejects with ClosedError when closed meanwhile', async (world) => {
    const member = world.member({ topics: [world.name('missing')] });
    const starting = world.rejects(member.begin(), ClosedError);
    await world.eventually('it has begun', () => member.statuses.length > 0);
    await member.close();
    await starting;
  });
}

function missingTopics({ promise }: ContractSuite): void {
  promise('start waits, says so, and goes on once it is created', async (world) => {
    const topic = world.name('created-later');
    const member = world.member({ topics: [topic] });
    const starting = member.start();
    await world.eventually('it reports the topic', () => member.reported().some(isAbout(topic)));
    assert.ok(member.statuses.some(({ state }) => state === 'retrying'));
    await world.staysPending(starting, 'The start without its topic');
    await world.admin.createTopics([{ name: topic, partitions: 1 }]);
    await starting;
    await world.write(topic, ['here']);
    assert.deepEqual(await member.readValues(1), ['here']);
    assert.equal(member.session.status.state, 'stable');
  });

  promise('asking for it does not create it', async (world) => {
    const topic = world.name('never-created');
    const member = world.member({ topics: [topic] });
    const starting = world.failureOf(member.begin());
    await world.eventually('it reports the topic', () => member.reported().some(isAbout(topic)));
    assert.deepEqual(await world.admin.topics([topic]), []);
    await member.close();
    await world.within(starting, 'the start to end');
  });

  promise('one of two is named; both are read once it is created', async (world) => {
    const [present, missing] = [await world.topic(), world.name('created-later')];
    await world.write(present, ['present']);
    const member = world.member({ topics: [present, missing] });
    const starting = member.start();
    await world.eventually('it is named', () => member.reported().some(isAbout(missing)));
    assert.ok(!member.reported().some(isAbout(present)));
    await world.admin.createTopics([{ name: missing, partitions: 1 }]);
    await starting;
    await world.write(missing, ['created']);
    // What was read before the second topic came is not committed, and may come again.
    const seen = new Set<string | null>();
    while (seen.size < 2) for (const value of await member.readValues(1)) seen.add(value);
    assert.deepEqual([...seen].map(String).sort(), ['created', 'present']);
  });

  promise('the others go on when one is deleted under the session', async (world) => {
    const [kept, deleted] = [await world.topic(), await world.topic()];
    const member = await world.join({ topics: [kept, deleted] });
    await world.admin.deleteTopics([deleted]);
    await world.write(kept, numbered(3));
    assert.deepEqual(await member.readValues(3), numbered(3));
  });

  promise('a successor of the same name is never read on from the middle', async (world) => {
    const topic = await world.topic();
    await world.write(topic, numbered(5));
    const member = world.member({
      topics: [topic],
      on: {
        onStopped: (error) => {
          if (error instanceof TopicRecreatedError) member.session.seek(error, 0);
        },
      },
    });
    await member.start();
    await member.read(5);
    await world.admin.deleteTopics([topic]);
    await world.eventually(
      'its successor is created',
      async () => (await world.admin.createTopics([{ name: topic }]))[0]?.changed === true,
    );
    const successors = numbered(10).map((value) => `new ${value}`);
    await world.write(topic, successors);
    assert.deepEqual(await member.readValues(10), successors);
  });

  promise('its id tells a topic from its successor of the same name', async (world) => {
    const topic = await world.topic();
    const member = await world.join({ topics: [topic] });
    const [described] = await world.admin.topics([topic]);
    assert.equal(member.session.topicId(topic), described?.id);
    assert.equal(member.session.topicId('foreign'), null);
  });
}

function unreachable({ needing }: ContractSuite): void {
  const promise = needing('unplug');

  promise('start waits, says so, and goes on once it can', async (world) => {
    const topic = await world.topic();
    await world.write(topic, ['here']);
    const driver = await world.process();
    const plugIn = await world.ability('unplug')(driver);
    const member = world.member({ topics: [topic], driver });
    const starting = member.start();
    await world.eventually('it retries', () => member.session.status.state === 'retrying');
    await plugIn();
    await starting;
    assert.deepEqual(await member.readValues(1), ['here']);
  });

  promise('a stable session says so, and loses nothing by it', async (world) => {
    const topic = await world.topic();
    const driver = await world.process();
    const member = await world.join({ topics: [topic], driver });
    const poll = member.session.poll(1);
    const plugIn = await world.ability('unplug')(driver);
    await world.eventually('it retries', () => member.session.status.state === 'retrying');
    await world.write(topic, ['meanwhile']);
    await plugIn();
    assert.deepEqual((await world.within(poll, 'the record')).map(valueOf), ['meanwhile']);
    await world.eventually('it is stable', () => member.isStable());
  });

  promise('a session and its driver can still be closed', async (world) => {
    const topic = await world.topic();
    const driver = await world.process();
    const member = await world.join({ topics: [topic], driver });
    await world.ability('unplug')(driver);
    await member.close();
    assert.equal(member.session.status.state, 'closed');
    await world.within(driver.close(), 'the driver to close');
  });
}

function isAbout(topic: string): (error: Error) => boolean {
  return (error) => error instanceof UnknownTopicError && error.topic === topic;
}
