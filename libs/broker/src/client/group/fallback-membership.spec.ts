import {
  heartbeatAnswer,
  ConsumerMemberUnderTest,
  refusedHeartbeat,
} from './consumer-protocol/consumer-member-under-test.spec-support.js';
import { FallbackMembership } from './fallback-membership.js';
import {
  joinedAs,
  MemberUnderTest,
  refusedJoin,
  synced,
} from './member-under-test.spec-support.js';
import type { Membership } from './membership.js';

describe('FallbackMembership', () => {
  const scene = () => {
    const preferred = new ConsumerMemberUnderTest({ onUnsupported: (error) => unsupported(error) });
    const classic = new MemberUnderTest();
    let unsupported: (error: Error) => void = () => undefined;
    const asked: Error[] = [];
    const membership: Membership = new FallbackMembership(
      (onUnsupported) => {
        unsupported = onUnsupported;
        return preferred.membership;
      },
      (error) => {
        asked.push(error);
        return classic.membership;
      },
    );
    return { preferred, classic, membership, asked };
  };

  it('keeps the preferred membership if the broker supports its protocol', async () => {
    const { preferred, membership, asked } = scene();
    preferred.answer(heartbeatAnswer(1, [0]));
    membership.start();
    await preferred.runtime.settle();
    expect(membership.member.snapshot).toMatchObject({ generation: 1, protocol: 'consumer' });
    expect(membership.assignment).toEqual([{ topic: 'orders', partition: 0 }]);
    expect(asked).toEqual([]);
    await preferred.close();
  });

  it('uses the classic membership from then on if the broker does not support the consumer protocol', async () => {
    const { preferred, classic, membership, asked } = scene();
    preferred.answer(refusedHeartbeat(35));
    classic.cluster
      .once('JoinGroup', refusedJoin(79, 'me'), joinedAs('me', 4))
      .once('SyncGroup', synced(0, 1));
    membership.start();
    await preferred.runtime.settle();
    await classic.runtime.settle();
    expect(asked).toHaveLength(1);
    const { snapshot } = membership.member;
    expect(snapshot).toMatchObject({ memberId: 'me', generation: 4, protocol: 'classic' });
    expect(membership.member.owns({ topic: 'orders', partition: 1 }, snapshot)).toBe(true);
    await classic.close();
    await preferred.close();
  });

  it('does not switch to the other membership while it closes', async () => {
    const { preferred, membership, asked } = scene();
    preferred.answer(refusedHeartbeat(35));
    membership.start();
    await membership.close();
    await preferred.runtime.settle();
    expect(asked).toEqual([]);
    await preferred.close();
  });
});
