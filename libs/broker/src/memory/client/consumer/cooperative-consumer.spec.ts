import { FencedError, StaticMemberFencedError } from '../../../port/errors.js';
import { observe } from '../../broker/test-cluster.spec-support.js';
import { TestGroup } from './test-group.spec-support.js';

const assignors = ['cooperative-sticky'] as const;
const settings = { assignors, sessionTimeoutMs: 6_000, rebalanceTimeoutMs: 10_000 };
const stays = { topic: 't', partition: 1 };

describe('A cooperative member whose join is answered late', () => {
  it('takes no harm from heartbeats and commits of the generation that is over', async () => {
    const world = new TestGroup(2);
    const member = await world.join({ ...settings, clientId: 'slow' });
    const { generation } = member.session;
    const late = world.broker.faults.delayAnswers({ operation: 'join', clientId: 'slow' }, 3_000);
    const other = world.member(settings);
    const joined = other.start();
    await world.until(() => member.session.status.state === 'joining');
    await world.runtime.advance(1_000);
    // The group has gone on, and the member does not know yet.
    expect(world.broker.cluster.groups.describe('g').state).toBe('CompletingRebalance');
    expect(member.session.generation).toBe(generation);
    const commit = observe(member.session.commit([{ ...stays, offset: 0 }]));
    await world.runtime.advance(1_000);
    expect(commit.ended).toBe(false);
    late.lift();
    await world.until(() => joined.ended && other.session.assignment().length === 1);
    await world.until(() => commit.ended);
    expect(commit.error).toBeUndefined();
    expect(member.session.assignment()).toEqual([stays]);
    expect(member.callbacks.filter((line) => line.startsWith('lost'))).toEqual([]);
  });
});

describe('A static member', () => {
  it('that was fenced while it was away fails, instead of fencing its successor', async () => {
    const world = new TestGroup(1);
    const options = { ...settings, groupInstanceId: 'pod-1' };
    const away = await world.join({ ...options, clientId: 'away' });
    const fault = world.broker.faults.unplug({ clientId: 'away' });
    const successor = await world.join(options);
    await world.until(() => away.callbacks.includes('lost t-0'));
    fault.lift();
    await world.until(() => away.session.status.state === 'failed');
    expect(away.session.status).toMatchObject({
      error: expect.any(StaticMemberFencedError) as unknown,
    });
    await expect(away.session.poll(1)).rejects.toBeInstanceOf(StaticMemberFencedError);
    await world.runtime.advance(60_000);
    expect(successor.session.status.state).toBe('stable');
    expect(successor.callbacks).toEqual(['assigned t-0']);
    const commit = away.session.commit([{ topic: 't', partition: 0, offset: 1 }]);
    await expect(commit).rejects.toBeInstanceOf(FencedError);
  });
});
