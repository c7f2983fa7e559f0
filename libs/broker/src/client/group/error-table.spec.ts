import { brokerCodes, reactionTo, type Reaction } from '../../wire/index.js';
import {
  code,
  HEARTBEAT_MS,
  joinedAs,
  MemberUnderTest,
  refusedJoin,
  synced,
} from './member-under-test.spec-support.js';

/** The state of a membership that has got the same response to every request for one minute. */
const ENDS: Partial<Record<Reaction, 'goes on' | 'retrying' | 'failed'>> = {
  retry: 'retrying',
  'find-coordinator': 'retrying',
  'adopt-member-id': 'retrying',
  rejoin: 'retrying',
  'lost-rejoin-as-new': 'retrying',
  'slow-retry': 'retrying',
  refuse: 'failed',
};

const codes = [...brokerCodes.values()]
  .filter(({ code: each }) => each !== 0)
  .map(({ code: each, name }) => [each, name] as const);

describe.each(['join', 'sync'] as const)(
  'ClassicMembership, for each error code of a %s',
  (step) => {
    it.each(codes)('retries or fails visibly on code %i %s', async (errorCode) => {
      const member = new MemberUnderTest();
      const { cluster } = member;
      if (step === 'join') cluster.always('JoinGroup', refusedJoin(errorCode, 'me'));
      else cluster.always('JoinGroup', joinedAs('me', 1)).always('SyncGroup', code(errorCode));
      member.membership.start();
      await member.runtime.advance(60_000);
      expect(member.states.at(-1)).toBe(ENDS[reactionTo(step, errorCode)]);
      expect(member.joins.length).toBeLessThan(80);
      await member.close();
    });
  },
);

describe('ClassicMembership, after a heartbeat with an error code', () => {
  it.each(codes)('reacts to code %i %s as the table of broker codes says', async (errorCode) => {
    const member = await new MemberUnderTest().join();
    member.cluster
      .once('Heartbeat', code(errorCode))
      .always('JoinGroup', joinedAs('me', 2))
      .always('SyncGroup', synced(1));
    await member.runtime.advance(HEARTBEAT_MS * 2);
    const expectedCalls: Partial<Record<Reaction, string[]>> = {
      revoke: ['revoked 0 1', 'assigned 1'],
      lost: ['lost 0 1', 'assigned 1'],
      'lost-rejoin-as-new': ['lost 0 1', 'assigned 1'],
      refuse: ['lost 0 1'],
    };
    const reaction = reactionTo('heartbeat', errorCode);
    expect(member.calls.slice(1)).toEqual(expectedCalls[reaction] ?? []);
    expect(member.states.at(-1)).toBe(reaction === 'refuse' ? 'failed' : 'stable');
    await member.close();
  });
});
