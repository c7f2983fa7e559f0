import { completenessOf } from '../../chaos/broker/support/completeness.js';
import { expectOwnership, print } from '../../chaos/broker/support/expect-ownership.js';
import type { MemberEvent } from '../../chaos/broker/support/member-messages.js';
import { OwnershipRound } from '../../chaos/broker/support/ownership-round.js';
import {
  commitsAfterTakeover,
  ownersOf,
  sharedInOneGeneration,
  slowestToNotice,
  takenBeforeHandedBack,
  ownershipPeriodsOf,
  type MemberHistory,
} from '../../chaos/broker/support/ownership-periods.js';
import { describeWithKafka } from '../support/index.js';

const SEED = 1;
const SESSION_TIMEOUT_MS = 1_000;

describeWithKafka(
  'ownership of partitions, with three members and a fourth that joins',
  ({ brokers }) => {
    it('stays with one member at a time, without a lost record, through a kill, a leave and long revocations', async () => {
      const round = new OwnershipRound({
        brokers,
        seed: SEED,
        sessionTimeoutMs: SESSION_TIMEOUT_MS,
        longestPauseMs: 200,
      });
      const report = await round.run();
      print(report);
      expectOwnership(report, SESSION_TIMEOUT_MS);
    });
  },
);

describe('the ownership checks of this test', () => {
  const assigned = (at: number, generation: number): MemberEvent => ({
    at,
    kind: 'assigned',
    generation,
    memberId: 'id',
    positions: [{ partition: 0, offset: 0 }],
  });
  const ended = (kind: 'revoked' | 'lost', at: number, generation: number): MemberEvent => ({
    at,
    kind,
    generation,
    partitions: [0],
  });
  const committed = (startedAt: number, generation: number): MemberEvent => ({
    at: startedAt + 5,
    kind: 'committed',
    generation,
    insideRevocation: false,
    startedAt,
    positions: [{ partition: 0, offset: 7 }],
  });
  const history = (name: string, ...events: MemberEvent[]): MemberHistory => ({
    name,
    events,
    endedAt: undefined,
  });

  it('report one partition with two members in one generation', () => {
    const tenures = ownershipPeriodsOf([
      history('a', assigned(1, 1), ended('revoked', 2, 1)),
      history('b', assigned(5, 1)),
    ]);
    expect(sharedInOneGeneration(tenures)).toMatchObject([{ partition: 0 }]);
    expect(takenBeforeHandedBack(tenures)).toEqual([]);
  });

  it('report a partition that was assigned before its revocation ended', () => {
    const tenures = ownershipPeriodsOf([
      history('a', assigned(1, 1), ended('revoked', 6, 1)),
      history('b', assigned(5, 2)),
    ]);
    expect(takenBeforeHandedBack(tenures)).toMatchObject([{ earlier: { member: 'a' } }]);
    expect(sharedInOneGeneration(tenures)).toEqual([]);
  });

  it('report how late a member noticed its loss, and its commits until then', () => {
    const stories = [
      history('a', assigned(1, 1), committed(4, 1), committed(8, 1), ended('lost', 9, 1)),
      history('b', assigned(5, 2)),
    ];
    const tenures = ownershipPeriodsOf(stories);
    expect(slowestToNotice(tenures)).toBe(4);
    expect(commitsAfterTakeover(stories, tenures)).toEqual([committed(8, 1)]);
    expect(takenBeforeHandedBack(tenures)).toEqual([]);
  });

  it('return the current owner of a partition, without killed members', () => {
    const dead = { ...history('a', assigned(1, 1)), endedAt: 3 };
    expect(ownersOf(0, ownershipPeriodsOf([dead, history('b', assigned(5, 2))]))).toEqual(['b']);
    expect(ownersOf(0, ownershipPeriodsOf([dead]))).toEqual([]);
  });

  it('report unhandled records before the committed offset, and missing ones after it', () => {
    const written = [[0, 1, 2, 3]];
    const done = (number: number) => ({ partition: 0, offset: number, number });
    const { missing, duplicates, misplaced } = completenessOf(
      written,
      [{ partition: 0, offset: 2 }],
      [done(0), done(0)],
      [done(2), { ...done(2), number: 1 }],
    );
    expect(missing).toEqual([
      { partition: 0, offset: 1 },
      { partition: 0, offset: 3 },
    ]);
    expect(duplicates).toBe(1);
    expect(misplaced).toEqual([{ partition: 0, offset: 2, number: 1 }]);
  });
});
