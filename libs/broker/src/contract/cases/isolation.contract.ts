import assert from 'node:assert/strict';
import type { ContractTransaction } from '../fixture.js';
import { valueOf } from '../member.js';
import { numbered } from '../numbered.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function isolationContract({ needing }: ContractSuite): void {
  const promise = needing('openTransaction');

  promise('records of an aborted transaction are never seen', async (world) => {
    const topic = await world.topic();
    await world.write(topic, ['before']);
    await aborted(world, topic, ['gone', 'gone too']);
    await world.write(topic, ['after']);
    const member = await world.join({ topics: [topic] });
    assert.deepEqual(await member.readValues(2), ['before', 'after']);
  });

  promise('records of a committed transaction are seen, and their offsets kept', async (world) => {
    const topic = await world.topic();
    const transaction = await begun(world, topic, ['a', 'b']);
    await ended(world, topic, () => transaction.commit());
    await world.write(topic, ['c']);
    const records = await (await world.join({ topics: [topic] })).read(3);
    assert.deepEqual(records.map(valueOf), ['a', 'b', 'c']);
    assert.deepEqual(
      records.map(({ offset }) => offset),
      [0, 1, 3],
    );
  });

  promise('transactions that overlap are told apart, each by its own end', async (world) => {
    const topic = await world.topic();
    const bad = await begun(world, topic, ['bad 1']);
    const good = await begun(world, topic, ['good 1']);
    const worse = await begun(world, topic, ['worse 1']);
    await bad.send(to(topic, ['bad 2']));
    await world.write(topic, ['plain 1']);
    await bad.abort();
    await good.send(to(topic, ['good 2']));
    await worse.send(to(topic, ['worse 2']));
    await good.commit();
    await world.write(topic, ['plain 2']);
    await worse.abort();
    const member = await world.join({ topics: [topic] });
    assert.deepEqual(await member.readValues(4), ['good 1', 'plain 1', 'good 2', 'plain 2']);
  });

  promise('an aborted transaction that began before the first read offset', async (world) => {
    const topic = await world.topic();
    const bad = await begun(world, topic, ['bad 0']);
    await world.write(topic, ['plain 1']);
    await bad.send(to(topic, ['bad 2']));
    await world.write(topic, ['plain 3']);
    await bad.abort();
    const groupId = world.name('group');
    await world.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 1 }]);
    const member = await world.join({ topics: [topic], groupId });
    assert.deepEqual(await member.readValues(2), ['plain 1', 'plain 3']);
  });

  promise('many aborted transactions before a good record', async (world) => {
    const topic = await world.topic();
    for (const value of numbered(5)) await aborted(world, topic, [value, value]);
    await world.write(topic, ['good']);
    const [record] = await (await world.join({ topics: [topic] })).read(1);
    assert.deepEqual([record && valueOf(record), record?.offset], ['good', 15]);
  });

  promise(
    'an open transaction holds back what follows it, but no other partition',
    async (world) => {
      const topic = await world.topic(2);
      const open = await begun(world, topic, ['held 1']);
      await world.write(topic, ['held 2'], 0);
      await world.write(topic, ['free'], 1);
      const member = await world.join({ topics: [topic] });
      assert.deepEqual(await member.readValues(1), ['free']);
      const poll = member.session.poll(2);
      await world.staysPending(poll, 'A poll behind an open transaction');
      await open.commit();
      const first = (await world.within(poll, 'the held records')).map(valueOf);
      const rest = await member.readValues(2 - first.length);
      assert.deepEqual([...first, ...rest], ['held 1', 'held 2']);
    },
  );

  promise('an open transaction that is aborted frees what follows it', async (world) => {
    const topic = await world.topic();
    const open = await begun(world, topic, ['gone']);
    await world.write(topic, ['held']);
    const member = await world.join({ topics: [topic] });
    const poll = member.session.poll(2);
    await world.staysPending(poll, 'A poll behind an open transaction');
    await open.abort();
    assert.deepEqual((await world.within(poll, 'the held record')).map(valueOf), ['held']);
  });

  promise('read_uncommitted sees all, aborted and open ones too', async (world) => {
    const topic = await world.topic();
    await aborted(world, topic, ['aborted']);
    const open = await begun(world, topic, ['open']);
    await world.write(topic, ['plain']);
    const member = await world.join({ topics: [topic], isolation: 'read_uncommitted' });
    assert.deepEqual(await member.readValues(3), ['aborted', 'open', 'plain']);
    await open.abort();
  });

  promise('latest begins where an open transaction began', async (world) => {
    const topic = await world.topic();
    await world.write(topic, ['old']);
    const open = await begun(world, topic, ['open']);
    const member = await world.join({ topics: [topic], offsetReset: 'latest' });
    await open.commit();
    assert.deepEqual(await member.readValues(1), ['open']);
  });

  promise('the position moves past aborted records at the end of the log', async (world) => {
    const topic = await world.topic();
    await world.write(topic, ['good']);
    await aborted(world, topic, ['gone']);
    const member = await world.join({ topics: [topic] });
    await member.read(1);
    const abort = new AbortController();
    const poll = world.failureOf(member.session.poll(1, abort.signal));
    await world.eventually(
      'it stands at the end of the log',
      () => member.session.position({ topic, partition: 0 }) === 3,
    );
    abort.abort();
    await poll;
  });
}

async function begun(
  world: World,
  topic: string,
  values: readonly string[],
): Promise<ContractTransaction> {
  const transaction = await world.within(world.ability('openTransaction')(), 'a transaction');
  await transaction.send(to(topic, values));
  return transaction;
}

async function aborted(world: World, topic: string, values: readonly string[]): Promise<void> {
  const transaction = await begun(world, topic, values);
  await ended(world, topic, () => transaction.abort());
}

/** Waits until the end of a transaction is in the log: the broker answers before it has written it. */
async function ended(world: World, topic: string, end: () => Promise<void>): Promise<void> {
  const high = async (): Promise<number> => (await world.admin.watermarks(topic))[0]?.high ?? 0;
  const before = await high();
  await world.within(end(), 'the transaction to end');
  await world.eventually('its end is written', async () => (await high()) > before);
}

function to(topic: string, values: readonly string[]) {
  return values.map((value) => ({ topic, partition: 0, value }));
}
