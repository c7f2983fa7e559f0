import assert from 'node:assert/strict';
import type { ContractTransaction } from '../../fixture.js';
import { valueOf } from '../../member.js';
import { numbered } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function isolationContract({ requiring }: ContractSuite): void {
  const testCase = requiring('openTransaction');

  testCase('poll never returns records of an aborted transaction', async (context) => {
    const topic = await context.topic();
    await context.write(topic, ['before']);
    await writeAborted(context, topic, ['gone', 'gone too']);
    await context.write(topic, ['after']);
    const member = await context.join({ topics: [topic] });
    assert.deepEqual(await member.readValues(2), ['before', 'after']);
  });

  testCase('poll returns records of a committed transaction at their offsets', async (context) => {
    const topic = await context.topic();
    const transaction = await openTransactionWith(context, topic, ['a', 'b']);
    await writeInTransaction(context, topic, () => transaction.commit());
    await context.write(topic, ['c']);
    const records = await (await context.join({ topics: [topic] })).read(3);
    assert.deepEqual(records.map(valueOf), ['a', 'b', 'c']);
    assert.deepEqual(
      records.map(({ offset }) => offset),
      [0, 1, 3],
    );
  });

  testCase(
    'poll distinguishes overlapping transactions by their own end markers',
    async (context) => {
      const topic = await context.topic();
      const bad = await openTransactionWith(context, topic, ['bad 1']);
      const good = await openTransactionWith(context, topic, ['good 1']);
      const worse = await openTransactionWith(context, topic, ['worse 1']);
      await bad.send(toRecords(topic, ['bad 2']));
      await context.write(topic, ['plain 1']);
      await bad.abort();
      await good.send(toRecords(topic, ['good 2']));
      await worse.send(toRecords(topic, ['worse 2']));
      await good.commit();
      await context.write(topic, ['plain 2']);
      await worse.abort();
      const member = await context.join({ topics: [topic] });
      assert.deepEqual(await member.readValues(4), ['good 1', 'plain 1', 'good 2', 'plain 2']);
    },
  );

  testCase(
    'poll skips an aborted transaction that started before the first offset read',
    async (context) => {
      const topic = await context.topic();
      const bad = await openTransactionWith(context, topic, ['bad 0']);
      await context.write(topic, ['plain 1']);
      await bad.send(toRecords(topic, ['bad 2']));
      await context.write(topic, ['plain 3']);
      await bad.abort();
      const groupId = context.name('group');
      await context.admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 1 }]);
      const member = await context.join({ topics: [topic], groupId });
      assert.deepEqual(await member.readValues(2), ['plain 1', 'plain 3']);
    },
  );

  testCase('poll skips many aborted transactions before a committed record', async (context) => {
    const topic = await context.topic();
    for (const value of numbered(5)) await writeAborted(context, topic, [value, value]);
    await context.write(topic, ['good']);
    const [record] = await (await context.join({ topics: [topic] })).read(1);
    assert.deepEqual([record && valueOf(record), record?.offset], ['good', 15]);
  });

  testCase(
    'an open transaction delays later records of its own partition only',
    async (context) => {
      const topic = await context.topic(2);
      const open = await openTransactionWith(context, topic, ['held 1']);
      await context.write(topic, ['held 2'], 0);
      await context.write(topic, ['free'], 1);
      const member = await context.join({ topics: [topic] });
      assert.deepEqual(await member.readValues(1), ['free']);
      const poll = member.session.poll(2);
      await context.staysPending(poll, 'A poll after an open transaction');
      await open.commit();
      const first = (await context.within(poll, 'the held records')).map(valueOf);
      const rest = await member.readValues(2 - first.length);
      assert.deepEqual([...first, ...rest], ['held 1', 'held 2']);
    },
  );

  testCase('later records are returned once an open transaction is aborted', async (context) => {
    const topic = await context.topic();
    const open = await openTransactionWith(context, topic, ['gone']);
    await context.write(topic, ['held']);
    const member = await context.join({ topics: [topic] });
    const poll = member.session.poll(2);
    await context.staysPending(poll, 'A poll after an open transaction');
    await open.abort();
    assert.deepEqual((await context.within(poll, 'the held record')).map(valueOf), ['held']);
  });

  testCase(
    'poll with read_uncommitted returns all records, including those of aborted and open transactions',
    async (context) => {
      const topic = await context.topic();
      await writeAborted(context, topic, ['aborted']);
      const open = await openTransactionWith(context, topic, ['open']);
      await context.write(topic, ['plain']);
      const member = await context.join({ topics: [topic], isolation: 'read_uncommitted' });
      assert.deepEqual(await member.readValues(3), ['aborted', 'open', 'plain']);
      await open.abort();
    },
  );

  testCase(
    'a session with offsetReset latest starts where an open transaction started',
    async (context) => {
      const topic = await context.topic();
      await context.write(topic, ['old']);
      const open = await openTransactionWith(context, topic, ['open']);
      const member = await context.join({ topics: [topic], offsetReset: 'latest' });
      await open.commit();
      assert.deepEqual(await member.readValues(1), ['open']);
    },
  );

  testCase(
    'a trailing aborted transaction ends the poll, and its end can be committed',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      const partition = { topic, partition: 0 };
      await context.write(topic, ['good']);
      const member = await context.join({ topics: [topic], groupId });
      await member.read(1);
      const poll = member.session.poll(10);
      await context.staysPending(poll, 'A poll at the end of the log');
      await writeAborted(context, topic, ['gone', 'gone too']);
      assert.deepEqual(await context.within(poll, 'the poll'), []);
      const end = (await context.admin.watermarks(topic))[0]?.high;
      assert.equal(member.session.position(partition), end);
      await member.session.commit([{ ...partition, offset: end ?? -1 }]);
      const [stored] = await member.session.committed([partition]);
      assert.equal(stored?.offset, 4);
      const next = member.session.poll(10);
      await context.staysPending(next, 'A poll after the aborted records');
      await context.write(topic, ['next']);
      assert.deepEqual((await context.within(next, 'the next record')).map(valueOf), ['next']);
    },
  );

  testCase('the end marker of a committed transaction can be committed', async (context) => {
    const topic = await context.topic();
    const partition = { topic, partition: 0 };
    const transaction = await openTransactionWith(context, topic, ['a', 'b']);
    await writeInTransaction(context, topic, () => transaction.commit());
    const member = await context.join({ topics: [topic] });
    // The limit is reached at the last record, so the marker is left for the next poll.
    await member.read(2, 1);
    if (member.session.position(partition) !== 3)
      assert.deepEqual(await context.within(member.session.poll(1), 'the poll'), []);
    assert.equal(member.session.position(partition), 3);
  });
}

async function openTransactionWith(
  context: CaseContext,
  topic: string,
  values: readonly string[],
): Promise<ContractTransaction> {
  const transaction = await context.within(context.ability('openTransaction')(), 'a transaction');
  await transaction.send(toRecords(topic, values));
  return transaction;
}

async function writeAborted(
  context: CaseContext,
  topic: string,
  values: readonly string[],
): Promise<void> {
  const transaction = await openTransactionWith(context, topic, values);
  await writeInTransaction(context, topic, () => transaction.abort());
}

/**
 * Waits until the end of a transaction is in the log. The broker answers the commit or abort before
 * it has written the markers.
 */
async function writeInTransaction(
  context: CaseContext,
  topic: string,
  end: () => Promise<void>,
): Promise<void> {
  const high = async (): Promise<number> => (await context.admin.watermarks(topic))[0]?.high ?? 0;
  const before = await high();
  await context.within(end(), 'the transaction to end');
  await context.eventually('the end marker is written', async () => (await high()) > before);
}

function toRecords(topic: string, values: readonly string[]) {
  return values.map((value) => ({ topic, partition: 0, value }));
}
