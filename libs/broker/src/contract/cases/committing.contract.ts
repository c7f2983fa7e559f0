import assert from 'node:assert/strict';
import {
  BrokerError,
  ClosedError,
  CommitError,
  FencedError,
  OffsetMetadataTooLargeError,
} from '../../port/errors.js';
import { sharedOut } from '../group.js';
import { numbered } from '../numbered.js';
import { nameOf, namesOf } from '../partition-name.js';
import type { ContractSuite } from '../suite.js';
import type { World } from '../world.js';

export function committingContract(suite: ContractSuite): void {
  storing(suite);
  refusing(suite);
  ordering(suite);
}

function storing({ promise }: ContractSuite): void {
  promise('stores offset, metadata and leader epoch, readable on every road', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    await world.write(topic, numbered(5));
    const member = await world.join({ topics: [topic], groupId });
    const [record] = await member.read(1);
    const leaderEpoch = record?.leaderEpoch ?? -1;
    const stored = { topic, partition: 0, offset: 3, metadata: 'done: 3 🚆', leaderEpoch };
    await world.within(member.session.commit([stored]), 'the commit');

    assert.deepEqual(await member.session.committed([{ topic, partition: 0 }]), [stored]);
    assert.deepEqual(await world.admin.groupOffsets(groupId, [topic]), [stored]);
    await member.close();
    const next = await world.join({ topics: [topic], groupId });
    const { offset, metadata } = stored;
    assert.deepEqual(next.assigned()[0]?.committed, { offset, metadata, leaderEpoch });
  });

  promise('stores no metadata where none is given', async (world) => {
    const { member, topic } = await joinedWithTen(world);
    await member.session.commit([{ topic, partition: 0, offset: 1, metadata: 'old' }]);
    await member.session.commit([{ topic, partition: 0, offset: 2 }]);
    const [stored] = await member.session.committed([{ topic, partition: 0 }]);
    assert.equal(stored?.metadata ?? '', '');
  });

  promise('stores several partitions of several topics at once', async (world) => {
    const [first, second] = [await world.topic(2), await world.topic()];
    const member = await world.join({ topics: [first, second] });
    const offsets = [
      { topic: first, partition: 0, offset: 0 },
      { topic: first, partition: 1, offset: 0 },
      { topic: second, partition: 0, offset: 0 },
    ];
    await world.within(member.session.commit(offsets), 'the commit');
    const stored = await member.session.committed(offsets);
    assert.deepEqual(stored.map(nameOf).sort(), offsets.map(nameOf).sort());
  });

  promise('leaves out of committed() what has no offset', async (world) => {
    const topic = await world.topic(2);
    const { session } = await world.join({ topics: [topic] });
    await session.commit([{ topic, partition: 1, offset: 0 }]);
    const stored = await session.committed([0, 1].map((partition) => ({ topic, partition })));
    assert.deepEqual(stored.map(nameOf), [`${topic}-1`]);
  });

  promise('resolves for an empty list', async (world) => {
    const { member } = await joinedWithTen(world);
    await world.within(member.session.commit([]), 'the empty commit');
  });

  promise('is where a restart goes on', async (world) => {
    const { member, topic, groupId } = await joinedWithTen(world);
    await member.read(6);
    await member.session.commit([{ topic, partition: 0, offset: 4 }]);
    await member.close();
    const driver = await world.process();
    const next = await world.join({ topics: [topic], groupId, driver });
    assert.deepEqual(await next.readValues(6), numbered(6, 4));
  });

  promise('succeeds within onRevoked, when closing', async (world) => {
    const [topic, groupId] = [await world.topic(), world.name('group')];
    await world.write(topic, numbered(10));
    const member = world.member({
      topics: [topic],
      groupId,
      on: { onRevoked: () => member.session.commit([{ topic, partition: 0, offset: 7 }]) },
    });
    await member.start();
    await member.close();
    const [stored] = await world.admin.groupOffsets(groupId, [topic]);
    assert.equal(stored?.offset, 7);
  });

  promise('succeeds within onRevoked, when another member joins', async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const outcomes: string[] = [];
    const member = world.member({
      topics: [topic],
      groupId,
      on: {
        onRevoked: async (partitions) => {
          const offsets = partitions.map((each) => ({ ...each, offset: 0, metadata: 'revoked' }));
          await member.session.commit(offsets);
          outcomes.push('stored');
        },
      },
    });
    await member.start();
    const driver = await world.process();
    const other = await world.join({ topics: [topic], groupId, driver });
    await sharedOut(world, [member, other], namesOf(topic, 2));
    assert.deepEqual(outcomes, ['stored']);
    assert.equal(other.assigned()[0]?.committed?.metadata, 'revoked');
  });
}

function refusing({ promise }: ContractSuite): void {
  promise('refuses metadata that is too large, for that partition only', async (world) => {
    const topic = await world.topic(2);
    const { session } = await world.join({ topics: [topic] });
    const commit = session.commit([
      { topic, partition: 0, offset: 0, metadata: 'a'.repeat(4097) },
      { topic, partition: 1, offset: 0, metadata: 'fits' },
    ]);
    const error = await world.rejects(commit, OffsetMetadataTooLargeError);
    assert.deepEqual(error.partitions.map(nameOf), [`${topic}-0`]);
    const stored = await session.committed([0, 1].map((partition) => ({ topic, partition })));
    assert.deepEqual(stored.map(nameOf), [`${topic}-1`]);
  });

  promise('counts metadata in UTF-16 units, as the broker does: 4096 pass', async (world) => {
    const { member, topic } = await joinedWithTen(world);
    const metadata = 'é'.repeat(4096);
    await member.session.commit([{ topic, partition: 0, offset: 1, metadata }]);
    const [stored] = await member.session.committed([{ topic, partition: 0 }]);
    assert.equal(stored?.metadata, metadata);
  });

  promise('refuses a partition that is not ours, and stores the others', async (world) => {
    const { member, topic, groupId } = await joinedWithTen(world);
    const foreign = await world.topic();
    const commit = member.session.commit([
      { topic: foreign, partition: 0, offset: 5 },
      { topic, partition: 0, offset: 5 },
    ]);
    const error = await world.rejects(commit, FencedError);
    assert.deepEqual(error.partitions.map(nameOf), [`${foreign}-0`]);
    const stored = await world.admin.groupOffsets(groupId);
    assert.deepEqual(stored.map(nameOf), [`${topic}-0`]);
  });

  promise('refuses a topic that was deleted, and stores the others at once', async (world) => {
    const [kept, deleted] = [await world.topic(), await world.topic()];
    const { session } = await world.join({ topics: [kept, deleted] });
    await world.admin.deleteTopics([deleted]);
    const offsets = [kept, deleted].map((topic) => ({ topic, partition: 0, offset: 0 }));
    let refusal: unknown;
    // The brokers may need a moment to hear of it.
    await world.eventually('the commit is refused', async () => {
      refusal = await world.failureOf(session.commit(offsets));
      return refusal !== undefined;
    });
    assert.ok(refusal instanceof CommitError, String(refusal));
    assert.deepEqual(refusal.partitions.map(nameOf), [`${deleted}-0`]);
    const stored = await session.committed([{ topic: kept, partition: 0 }]);
    assert.deepEqual(stored.map(nameOf), [`${kept}-0`]);
  });

  promise("refuses another member's partition", async (world) => {
    const [topic, groupId] = [await world.topic(2), world.name('group')];
    const member = await world.join({ topics: [topic], groupId });
    const driver = await world.process();
    const other = await world.join({ topics: [topic], groupId, driver });
    await sharedOut(world, [member, other], namesOf(topic, 2));
    const theirs = other.session.assignment().map((each) => ({ ...each, offset: 9 }));
    await world.rejects(member.session.commit(theirs), FencedError);
    assert.deepEqual(await world.admin.groupOffsets(groupId), []);
  });

  promise('refuses once closed, and stores nothing', async (world) => {
    const { member, topic, groupId } = await joinedWithTen(world);
    await member.session.commit([{ topic, partition: 0, offset: 2 }]);
    await member.close();
    const commit = member.session.commit([{ topic, partition: 0, offset: 9 }]);
    const error = await world.rejects(commit, BrokerError);
    assert.ok(error instanceof ClosedError || error instanceof FencedError, String(error));
    const [stored] = await world.admin.groupOffsets(groupId, [topic]);
    assert.equal(stored?.offset, 2);
  });

  for (const offset of [-1, 1.5, Number.NaN])
    promise(`refuses the offset ${offset}, and stores nothing`, async (world) => {
      const { member, topic, groupId } = await joinedWithTen(world);
      await world.rejects(member.session.commit([{ topic, partition: 0, offset }]), BrokerError);
      assert.deepEqual(await world.admin.groupOffsets(groupId, [topic]), []);
    });
}

function ordering({ promise }: ContractSuite): void {
  promise('settles concurrent commits; the last one wins', async (world) => {
    const { member, topic } = await joinedWithTen(world);
    const commits = numbered(50).map((offset) =>
      member.session.commit([{ topic, partition: 0, offset: Number(offset), metadata: offset }]),
    );
    await world.within(Promise.all(commits), 'fifty commits');
    const [stored] = await member.session.committed([{ topic, partition: 0 }]);
    assert.deepEqual([stored?.offset, stored?.metadata], [49, '49']);
  });

  promise('keeps each partition of concurrent commits', async (world) => {
    const topic = await world.topic(3);
    const { session } = await world.join({ topics: [topic] });
    const commits = [0, 1, 2, 0, 1, 2].map((partition, index) =>
      session.commit([{ topic, partition, offset: 0, metadata: String(index) }]),
    );
    await world.within(Promise.all(commits), 'six commits');
    const stored = await session.committed([0, 1, 2].map((partition) => ({ topic, partition })));
    const byPartition = [...stored].sort((one, other) => one.partition - other.partition);
    assert.deepEqual(
      byPartition.map(({ metadata }) => metadata),
      ['3', '4', '5'],
    );
  });

  promise('never goes backwards while commits that rise are under way', async (world) => {
    const { member, topic, groupId } = await joinedWithTen(world);
    const commits = numbered(60).map((offset) =>
      member.session.commit([{ topic, partition: 0, offset: Number(offset) }]),
    );
    const [last = Promise.resolve()] = commits.slice(-1);
    const seen: number[] = [];
    for (let settled = false; !settled; settled = await hasSettled(world, last)) {
      const [stored] = await world.admin.groupOffsets(groupId, [topic]);
      if (stored) seen.push(stored.offset);
    }
    await world.within(Promise.all(commits), 'sixty commits');
    assert.deepEqual(
      seen,
      [...seen].sort((one, other) => one - other),
    );
  });

  promise('is stored when it resolves: a reader elsewhere sees it at once', async (world) => {
    const { member, topic, groupId } = await joinedWithTen(world);
    const elsewhere = (await world.process()).admin();
    for (const offset of [1, 2, 3]) {
      await member.session.commit([{ topic, partition: 0, offset }]);
      const [stored] = await elsewhere.groupOffsets(groupId, [topic]);
      assert.equal(stored?.offset, offset);
    }
  });
}

async function hasSettled(world: World, promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, world.turn().then(() => false)]);
}

async function joinedWithTen(world: World) {
  const [topic, groupId] = [await world.topic(), world.name('group')];
  await world.write(topic, numbered(10));
  return { topic, groupId, member: await world.join({ topics: [topic], groupId }) };
}
