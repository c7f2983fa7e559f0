import { ConnectionError } from '../../../port/errors.js';
import { sleep } from '../../../runtime/index.js';
import {
  code,
  HEARTBEAT_MS,
  joinedAs,
  MemberUnderTest,
  SESSION_MS,
  synced,
} from '../member-under-test.spec-support.js';

describe('ClassicMembership.leaseUntil', () => {
  let member: MemberUnderTest;
  beforeEach(() => {
    member = new MemberUnderTest();
  });
  afterEach(() => member.close());

  it('is a session timeout after each request that the group has answered', async () => {
    expect(member.membership.member.leaseUntil).toBe(-Infinity);
    await member.join();
    expect(member.membership.member.leaseUntil).toBe(SESSION_MS);
    await member.runtime.advance(HEARTBEAT_MS);
    expect(member.membership.member.leaseUntil).toBe(HEARTBEAT_MS + SESSION_MS);
    member.cluster.once('Heartbeat', new ConnectionError('cut'));
    await member.runtime.advance(HEARTBEAT_MS);
    expect(member.membership.member.leaseUntil).toBe(HEARTBEAT_MS + SESSION_MS);
  });

  it('counts from the request if the answer to SyncGroup is late, and a heartbeat follows at once', async () => {
    member.cluster
      .once('JoinGroup', joinedAs('me', 1))
      .once('SyncGroup', async () => {
        await sleep(member.runtime, SESSION_MS + 1);
        return synced(0);
      })
      .always('LeaveGroup', code(0));
    const waiting = new Promise<void>((resolve) =>
      member.cluster.once('Heartbeat', async () => {
        expect(member.membership.member.leaseUntil).toBe(SESSION_MS);
        resolve();
        return code(0);
      }),
    );
    member.membership.start();
    await member.runtime.advance(SESSION_MS + 1);
    await waiting;
    await member.runtime.settle();
    expect(member.membership.member.leaseUntil).toBe(2 * SESSION_MS + 1);
  });
});
