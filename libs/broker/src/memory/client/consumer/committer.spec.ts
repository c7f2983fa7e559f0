import { FencedError, OffsetMetadataTooLargeError } from '../../../port/errors.js';
import { observe } from '../../broker/test-cluster.spec-support.js';
import { TestGroup } from './test-group.spec-support.js';

const first = { topic: 't', partition: 0 };

describe('a commit', () => {
  it('is retried while the coordinator is unavailable', async () => {
    const group = new TestGroup();
    const member = await group.join();
    group.broker.faults.refuse({ operation: 'commit' }, 'NOT_COORDINATOR', { times: 2 });
    const commit = observe(member.session.commit([{ ...first, offset: 3 }]));
    await group.until(() => commit.ended);
    expect(commit.error).toBeUndefined();
    expect((await member.session.committed([first]))[0]?.offset).toBe(3);
  });

  it('is sent again if its response was lost', async () => {
    const group = new TestGroup();
    const member = await group.join();
    const fault = group.broker.faults.loseAnswers({ operation: 'commit' }, { times: 1 });
    const commit = observe(member.session.commit([{ ...first, offset: 3 }]));
    await group.until(() => commit.ended);
    expect([commit.error, fault.hits]).toEqual([undefined, 1]);
  });

  it('cannot be overtaken by an older one while it waits', async () => {
    const group = new TestGroup();
    const member = await group.join();
    group.broker.faults.delayRequests({ operation: 'commit' }, 500, { times: 1 });
    const commits = [1, 2, 3].map((offset) =>
      observe(member.session.commit([{ ...first, offset }])),
    );
    await group.until(() => commits.every(({ ended }) => ended));
    expect((await member.session.committed([first]))[0]?.offset).toBe(3);
  });

  it('never counts in a later assignment of the same partition', async () => {
    const group = new TestGroup();
    const member = await group.join();
    const held = group.broker.faults.delayRequests({ operation: 'commit' }, 60_000, { times: 1 });
    const commits = [1, 2].map((offset) => observe(member.session.commit([{ ...first, offset }])));
    await group.until(() => held.hits === 1);
    group.broker.faults.expireSession('g', member.session.memberId);
    await group.until(() => member.callbacks.length === 3);
    await group.until(() => commits.every(({ ended }) => ended));
    for (const { error } of commits) expect(error).toBeInstanceOf(FencedError);
    expect(await member.session.committed([first])).toEqual([]);
  });

  it('is refused only for the partition whose metadata exceeds the limit of UTF-16 units', async () => {
    const group = new TestGroup(2);
    const member = await group.join();
    const error: unknown = await member.session
      .commit([
        { ...first, offset: 1, metadata: 'x'.repeat(4_097) },
        { topic: 't', partition: 1, offset: 1, metadata: 'é'.repeat(4_096) },
      ])
      .catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(OffsetMetadataTooLargeError);
    expect(error).toMatchObject({ partitions: [first], brokerCode: 12 });
    expect(await member.session.committed([first])).toEqual([]);
  });
});
