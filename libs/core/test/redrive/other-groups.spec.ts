import { AuthorizationError, type AdminSession } from '@nest-event-bus/broker';
import { otherGroupsOf } from '../../src/redrive/planning/other-groups.js';
import { RedriveTestBus } from './redrive-test-bus.spec-support.js';

let testBus: RedriveTestBus;

afterEach(() => testBus.end());

async function commitAs(groupId: string, topic: string): Promise<void> {
  const admin = testBus.outside.admin();
  await testBus.done(admin.setGroupOffsets(groupId, [{ topic, partition: 0, offset: 1 }]));
}

describe('A plan of a redrive', () => {
  it('names the other groups that read the topic to which it replays', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    await commitAs('warehouse', 'orders');
    await commitAs('billing', 'orders');
    await commitAs('reports', 'orders.DLT');
    const plan = await testBus.done(testBus.replay.plan('orders', { all: true }));
    expect(plan.otherGroups).toEqual(['billing', 'warehouse']);
  });

  it('is also made without the right to list groups', async () => {
    testBus = await RedriveTestBus.withLetters(['1']);
    const refusing: Pick<AdminSession, 'groups' | 'groupOffsets'> = {
      groups: () => Promise.reject(new AuthorizationError('no right to describe the cluster')),
      groupOffsets: () => Promise.resolve([]),
    };
    const parts = { admin: refusing, topic: 'orders', groupId: 'shop' };
    expect(await otherGroupsOf(parts)).toBeUndefined();
  });
});
