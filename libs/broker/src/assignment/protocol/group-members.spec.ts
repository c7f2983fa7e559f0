import { MalformedResponseError } from '../../port/errors.js';
import { decodeAssignment, encodeSubscription, NO_GENERATION } from './consumer-protocol.js';
import { encodePlan, readGroupMembers } from './group-members.js';
import { assignorNamed } from '../assignors.js';
import { subscribedTopics } from '../subscribers.js';

const subscriptionTo = (...topics: string[]): Buffer =>
  encodeSubscription({ topics, userData: null, owned: [], generation: NO_GENERATION, rack: null });

describe('readGroupMembers, subscribedTopics and encodePlan', () => {
  it('readGroupMembers reports a member with invalid metadata and treats it as subscribed to nothing', () => {
    const { members, unreadable } = readGroupMembers([
      { memberId: 'good', instanceId: 'host-1', metadata: subscriptionTo('orders') },
      { memberId: 'bad', instanceId: null, metadata: Buffer.from('not a subscription') },
    ]);
    expect(members).toMatchObject([
      { memberId: 'good', instanceId: 'host-1', topics: ['orders'] },
      { memberId: 'bad', instanceId: null, topics: [], owned: [] },
    ]);
    expect(unreadable).toEqual([{ memberId: 'bad', error: expect.any(MalformedResponseError) }]);
  });

  it('a member with invalid metadata gets no partitions, and the others get all', () => {
    const { members } = readGroupMembers([
      { memberId: 'bad', instanceId: null, metadata: Buffer.alloc(0) },
      { memberId: 'good', instanceId: null, metadata: subscriptionTo('orders') },
    ]);
    for (const name of ['range', 'sticky']) {
      const plan = assignorNamed(name).assign({ members, partitionsOf: new Map([['orders', 2]]) });
      expect(plan.get('bad')).toEqual([]);
      expect(plan.get('good')).toHaveLength(2);
    }
  });

  it('subscribedTopics returns the topics of all members', () => {
    const { members } = readGroupMembers([
      { memberId: 'a', instanceId: null, metadata: subscriptionTo('orders', 'audit') },
      { memberId: 'b', instanceId: null, metadata: subscriptionTo('orders', 'bills') },
    ]);
    expect(subscribedTopics(members)).toEqual(['audit', 'bills', 'orders']);
  });

  it('encodePlan encodes every member, including those without partitions', () => {
    const bytes = encodePlan(
      new Map([
        ['a', [{ topic: 'orders', partition: 1 }]],
        ['b', []],
      ]),
    );
    const shares = [...bytes].map(([memberId, share]) => [memberId, decodeAssignment(share)]);
    expect(shares).toEqual([
      ['a', [{ topic: 'orders', partition: 1 }]],
      ['b', []],
    ]);
    expect(bytes.get('b')).not.toHaveLength(0);
  });
});
