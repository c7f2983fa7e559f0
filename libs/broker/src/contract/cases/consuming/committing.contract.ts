import assert from 'node:assert/strict';
import {
  BrokerError,
  ClosedError,
  CommitError,
  FencedError,
  OffsetMetadataTooLargeError,
} from '../../../port/errors.js';
import { waitUntilShared } from '../../group.js';
import { numbered } from '../../test-values.js';
import { partitionName } from '../../../port/topic-partition.js';
import { namesOfPartitions } from '../../test-values.js';
import type { ContractSuite } from '../../contract-suite.js';
import type { CaseContext } from '../../case-context.js';

export function committingContract(suite: ContractSuite): void {
  storing(suite);
  refusing(suite);
  ordering(suite);
}

function storing({ testCase }: ContractSuite): void {
  testCase(
    'stores offset, metadata and leader epoch, and every API returns them',
    async (context) => {
      const [topic, groupId] = [await context.topic(), context.name('group')];
      await context.write(topic, numbered(5));
      const member = await context.join({ topics: [topic], groupId });
      const [record] = await member.read(1);
      const leaderEpoch = record?.leaderEpoch ?? -1;
      const stored = { topic, partition: 0, offset: 3, metadata: 'done: 3 🚆', leaderEpoch };
      await context.within(member.session.commit([stored]), 'the commit');

      assert.deepEqual(await member.session.committed([{ topic, partition: 0 }]), [stored]);
      assert.deepEqual(await context.admin.groupOffsets(groupId, [topic]), [stored]);
      await member.close();
      const next = await context.join({ topics: [topic], groupId });
      const { offset, metadata } = stored;
      assert.deepEqual(next.assigned()[0]?.committed, { offset, metadata, leaderEpoch });
    },
  );

  testCase('stores no metadata by default', async (context) => {
    const { member, topic } = await joinedWithTen(context);
    await member.session.commit([{ topic, partition: 0, offset: 1, metadata: 'old' }]);
    await member.session.commit([{ topic, partition: 0, offset: 2 }]);
    const [stored] = await member.session.committed([{ topic, partition: 0 }]);
    assert.equal(stored?.metadata ?? '', '');
  });

  testCase('stores several partitions of several topics at once', async (context) => {
    const [first, second] = [await context.topic(2), await context.topic()];
    const member = await context.join({ topics: [first, second] });
    const offsets = [
      { topic: first, partition: 0, offset: 0 },
      { topic: first, partition: 1, offset: 0 },
      { topic: second, partition: 0, offset: 0 },
    ];
    await context.within(member.session.commit(offsets), 'the commit');
    const stored = await member.session.committed(offsets);
    assert.deepEqual(stored.map(partitionName).sort(), offsets.map(partitionName).sort());
  });

  testCase('committed() leaves out partitions without an offset', async (context) => {
    const topic = await context.topic(2);
    const { session } = await context.join({ topics: [topic] });
    await session.commit([{ topic, partition: 1, offset: 0 }]);
    const stored = await session.committed([0, 1].map((partition) => ({ topic, partition })));
    assert.deepEqual(stored.map(partitionName), [`${topic}-1`]);
  });

  testCase('resolves for an empty list', async (context) => {
    const { member } = await joinedWithTen(context);
    await context.within(member.session.commit([]), 'the empty commit');
  });

  testCase('a restarted member continues at the committed offset', async (context) => {
    const { member, topic, groupId } = await joinedWithTen(context);
    await member.read(6);
    await member.session.commit([{ topic, partition: 0, offset: 4 }]);
    await member.close();
    const driver = await context.newProcess();
    const next = await context.join({ topics: [topic], groupId, driver });
    assert.deepEqual(await next.readValues(6), numbered(6, 4));
  });

  testCase('succeeds within onRevoked when the session closes', async (context) => {
    const [topic, groupId] = [await context.topic(), context.name('group')];
    await context.write(topic, numbered(10));
    const member = context.member({
      topics: [topic],
      groupId,
      on: { onRevoked: () => member.session.commit([{ topic, partition: 0, offset: 7 }]) },
    });
    await member.start();
    await member.close();
    const [stored] = await context.admin.groupOffsets(groupId, [topic]);
    assert.equal(stored?.offset, 7);
  });

  testCase('succeeds within onRevoked when another member joins', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const outcomes: string[] = [];
    const member = context.member({
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
    const driver = await context.newProcess();
    const other = await context.join({ topics: [topic], groupId, driver });
    await waitUntilShared(context, [member, other], namesOfPartitions(topic, 2));
    assert.deepEqual(outcomes, ['stored']);
    assert.equal(other.assigned()[0]?.committed?.metadata, 'revoked');
  });
}

function refusing({ testCase }: ContractSuite): void {
  testCase('refuses metadata that is too large, for that partition only', async (context) => {
    const topic = await context.topic(2);
    const { session } = await context.join({ topics: [topic] });
    const commit = session.commit([
      { topic, partition: 0, offset: 0, metadata: 'a'.repeat(4097) },
      { topic, partition: 1, offset: 0, metadata: 'fits' },
    ]);
    const error = await context.rejects(commit, OffsetMetadataTooLargeError);
    assert.deepEqual(error.partitions.map(partitionName), [`${topic}-0`]);
    const stored = await session.committed([0, 1].map((partition) => ({ topic, partition })));
    assert.deepEqual(stored.map(partitionName), [`${topic}-1`]);
  });

  testCase(
    'counts metadata in UTF-16 units, as the broker does: 4096 are accepted',
    async (context) => {
      const { member, topic } = await joinedWithTen(context);
      const metadata = 'é'.repeat(4096);
      await member.session.commit([{ topic, partition: 0, offset: 1, metadata }]);
      const [stored] = await member.session.committed([{ topic, partition: 0 }]);
      assert.equal(stored?.metadata, metadata);
    },
  );

  testCase(
    'refuses a partition that the member does not own, and stores the others',
    async (context) => {
      const { member, topic, groupId } = await joinedWithTen(context);
      const foreign = await context.topic();
      const commit = member.session.commit([
        { topic: foreign, partition: 0, offset: 5 },
        { topic, partition: 0, offset: 5 },
      ]);
      const error = await context.rejects(commit, FencedError);
      assert.deepEqual(error.partitions.map(partitionName), [`${foreign}-0`]);
      const stored = await context.admin.groupOffsets(groupId);
      assert.deepEqual(stored.map(partitionName), [`${topic}-0`]);
    },
  );

  testCase('refuses a deleted topic, and stores the others at once', async (context) => {
    const [kept, deleted] = [await context.topic(), await context.topic()];
    const { session } = await context.join({ topics: [kept, deleted] });
    await context.admin.deleteTopics([deleted]);
    const offsets = [kept, deleted].map((topic) => ({ topic, partition: 0, offset: 0 }));
    let refusal: unknown;
    // The brokers may need a moment to apply the deletion.
    await context.eventually('the commit is refused', async () => {
      refusal = await context.failureOf(session.commit(offsets));
      return refusal !== undefined;
    });
    assert.ok(refusal instanceof CommitError, String(refusal));
    assert.deepEqual(refusal.partitions.map(partitionName), [`${deleted}-0`]);
    const stored = await session.committed([{ topic: kept, partition: 0 }]);
    assert.deepEqual(stored.map(partitionName), [`${kept}-0`]);
  });

  testCase('refuses a partition of another member', async (context) => {
    const [topic, groupId] = [await context.topic(2), context.name('group')];
    const member = await context.join({ topics: [topic], groupId });
    const driver = await context.newProcess();
    const other = await context.join({ topics: [topic], groupId, driver });
    await waitUntilShared(context, [member, other], namesOfPartitions(topic, 2));
    const theirs = other.session.assignment().map((each) => ({ ...each, offset: 9 }));
    await context.rejects(member.session.commit(theirs), FencedError);
    assert.deepEqual(await context.admin.groupOffsets(groupId), []);
  });

  testCase('refuses a commit after close, and stores nothing', async (context) => {
    const { member, topic, groupId } = await joinedWithTen(context);
    await member.session.commit([{ topic, partition: 0, offset: 2 }]);
    await member.close();
    const commit = member.session.commit([{ topic, partition: 0, offset: 9 }]);
    const error = await context.rejects(commit, BrokerError);
    assert.ok(error instanceof ClosedError || error instanceof FencedError, String(error));
    const [stored] = await context.admin.groupOffsets(groupId, [topic]);
    assert.equal(stored?.offset, 2);
  });

  for (const offset of [-1, 1.5, Number.NaN])
    testCase(`refuses the offset ${offset}, and stores nothing`, async (context) => {
      const { member, topic, groupId } = await joinedWithTen(context);
      await context.rejects(member.session.commit([{ topic, partition: 0, offset }]), BrokerError);
      assert.deepEqual(await context.admin.groupOffsets(groupId, [topic]), []);
    });
}

function ordering({ testCase }: ContractSuite): void {
  testCase('completes concurrent commits; the last one wins', async (context) => {
    const { member, topic } = await joinedWithTen(context);
    const commits = numbered(50).map((offset) =>
      member.session.commit([{ topic, partition: 0, offset: Number(offset), metadata: offset }]),
    );
    await context.within(Promise.all(commits), 'fifty commits');
    const [stored] = await member.session.committed([{ topic, partition: 0 }]);
    assert.deepEqual([stored?.offset, stored?.metadata], [49, '49']);
  });

  testCase('keeps each partition of concurrent commits', async (context) => {
    const topic = await context.topic(3);
    const { session } = await context.join({ topics: [topic] });
    const commits = [0, 1, 2, 0, 1, 2].map((partition, index) =>
      session.commit([{ topic, partition, offset: 0, metadata: String(index) }]),
    );
    await context.within(Promise.all(commits), 'six commits');
    const stored = await session.committed([0, 1, 2].map((partition) => ({ topic, partition })));
    const byPartition = [...stored].sort((one, other) => one.partition - other.partition);
    assert.deepEqual(
      byPartition.map(({ metadata }) => metadata),
      ['3', '4', '5'],
    );
  });

  testCase('the stored offset never decreases during increasing commits', async (context) => {
    const { member, topic, groupId } = await joinedWithTen(context);
    const commits = numbered(60).map((offset) =>
      member.session.commit([{ topic, partition: 0, offset: Number(offset) }]),
    );
    const [last = Promise.resolve()] = commits.slice(-1);
    const seen: number[] = [];
    for (let settled = false; !settled; settled = await hasSettled(context, last)) {
      const [stored] = await context.admin.groupOffsets(groupId, [topic]);
      if (stored) seen.push(stored.offset);
    }
    await context.within(Promise.all(commits), 'sixty commits');
    assert.deepEqual(
      seen,
      [...seen].sort((one, other) => one - other),
    );
  });

  testCase('a resolved commit is visible to another process at once', async (context) => {
    const { member, topic, groupId } = await joinedWithTen(context);
    const elsewhere = (await context.newProcess()).admin();
    for (const offset of [1, 2, 3]) {
      await member.session.commit([{ topic, partition: 0, offset }]);
      const [stored] = await elsewhere.groupOffsets(groupId, [topic]);
      assert.equal(stored?.offset, offset);
    }
  });
}

async function hasSettled(context: CaseContext, promise: Promise<unknown>): Promise<boolean> {
  const settled = promise.then(
    () => true,
    () => true,
  );
  return Promise.race([settled, context.yieldToEventLoop().then(() => false)]);
}

async function joinedWithTen(context: CaseContext) {
  const [topic, groupId] = [await context.topic(), context.name('group')];
  await context.write(topic, numbered(10));
  return { topic, groupId, member: await context.join({ topics: [topic], groupId }) };
}
