import { FencedError, StaticMemberFencedError } from '../../../port/errors.js';
import { observe } from '../../broker/test-cluster.spec-support.js';
import { TestGroup } from './test-group.spec-support.js';

const assignors = ['cooperative-sticky'] as const;
const settings = { assignors, sessionTimeoutMs: 6_000, rebalanceTimeoutMs: 10_000 };
const stays = { topic: 't', partition: 1 };

describe('a cooperative member with a late join response', () => {
  it('ignores errors of heartbeats and commits of the previous generation', async () => {
    const group = new TestGroup(2);
    const member = await group.join({ ...settings, clientId: 'slow' });
    const { generation } = member.session;
    const late = group.broker.faults.delayAnswers({ operation: 'join', clientId: 'slow' }, 3_000);
    const other = group.member(settings);
    const joined = other.start();
    await group.until(() => member.session.status.state === 'joining');
    await group.runtime.advance(1_000);
    // The group has a new generation, and the member does not know it yet.
    expect(group.broker.cluster.groups.describe('g').state).toBe('CompletingRebalance');
    expect(member.session.generation).toBe(generation);
    const commit = observe(member.session.commit([{ ...stays, offset: 0 }]));
    await group.runtime.advance(1_000);
    expect(commit.ended).toBe(false);
    late.lift();
    await group.until(() => joined.ended && other.session.assignment().length === 1);
    await group.until(() => commit.ended);
    expect(commit.error).toBeUndefined();
    expect(member.session.assignment()).toEqual([stays]);
    expect(member.callbacks.filter((line) => line.startsWith('lost'))).toEqual([]);
  });
});

describe('a static member', () => {
  it('fails if it was fenced while it was away, instead of fencing its successor', async () => {
    const group = new TestGroup(1);
    const options = { ...settings, groupInstanceId: 'pod-1' };
    const away = await group.join({ ...options, clientId: 'away' });
    const fault = group.broker.faults.unplug({ clientId: 'away' });
    const successor = await group.join(options);
    await group.until(() => away.callbacks.includes('lost t-0'));
    fault.lift();
    await group.until(() => away.session.status.state === 'failed');
    expect(away.session.status).toMatchObject({
      error: expect.any(StaticMemberFencedError) as unknown,
    });
    await expect(away.session.poll(1)).rejects.toBeInstanceOf(StaticMemberFencedError);
    await group.runtime.advance(60_000);
    expect(successor.session.status.state).toBe('stable');
    expect(successor.callbacks).toEqual(['assigned t-0']);
    const commit = away.session.commit([{ topic: 't', partition: 0, offset: 1 }]);
    await expect(commit).rejects.toBeInstanceOf(FencedError);
  });
});
