import { UnsupportedError } from '../../../port/errors.js';
import { brokerCodes, reactionTo, type Reaction } from '../../../wire/index.js';
import {
  ConsumerMemberUnderTest,
  refusedHeartbeat,
} from './consumer-member-under-test.spec-support.js';

describe('ConsumerMembership, with a broker that does not support the protocol', () => {
  it.each([
    ['reports it in the response', refusedHeartbeat(35)],
    ['does not offer the request', new UnsupportedError('ConsumerGroupHeartbeat')],
  ])('ends without an assignment if the broker %s', async (_, answer) => {
    const member = await new ConsumerMemberUnderTest().start(answer);
    expect(member.unsupported).toHaveLength(1);
    expect(member.calls).toEqual([]);
    expect(member.states).toEqual(['joining']);
    await member.close();
  });
});

const codes = [...brokerCodes.values()]
  .filter(({ code }) => code !== 0)
  .map(({ code, name }) => [code, name] as const);

describe('ConsumerMembership, for each error code of the table', () => {
  const ENDS: Partial<Record<Reaction, string>> = { refuse: 'failed', 'fall-back': 'joining' };

  it.each(codes)('retries or fails visibly on code %i %s during the join', async (errorCode) => {
    const member = await new ConsumerMemberUnderTest().start(refusedHeartbeat(errorCode));
    await member.runtime.advance(60_000);
    const reaction = reactionTo('consumerJoin', errorCode);
    const ended = ENDS[reaction] ?? (reaction.startsWith('lost') ? 'joining' : 'retrying');
    expect(member.states.at(-1)).toBe(ended);
    expect(member.heartbeats.length).toBeLessThan(80);
    await member.close();
  });

  it.each(codes)(
    'keeps or loses its partitions, as the table of broker codes says, on code %i %s in one response',
    async (errorCode) => {
      const member = await new ConsumerMemberUnderTest().start();
      member.once(refusedHeartbeat(errorCode));
      await member.runtime.advance(30_000);
      const reaction = reactionTo('consumerHeartbeat', errorCode);
      const expectedCalls: Partial<Record<Reaction, string[]>> = {
        lost: ['lost 0 1', 'assigned 0 1'],
        'lost-rejoin-as-new': ['lost 0 1', 'assigned 0 1'],
        'fall-back': ['lost 0 1'],
        refuse: ['lost 0 1'],
      };
      const isSlow = reaction === 'slow-retry' ? [] : (expectedCalls[reaction] ?? []);
      expect(member.calls.slice(1)).toEqual(isSlow);
      await member.close();
    },
  );
});
