import { Deferred } from '../../../runtime/index.js';
import { observe } from '../../broker/test-cluster.spec-support.js';
import { TestGroup } from './test-group.spec-support.js';

const groupProtocol = 'consumer';
const SOME_BEATS_MS = 30_000;

describe('A member by KIP-848 that closes', () => {
  it('is asked once for each partition when another one joins meanwhile', async () => {
    const world = new TestGroup(2);
    const gate = new Deferred();
    const options = { groupProtocol, rebalanceTimeoutMs: 60_000 } as const;
    const member = await world.join(options, { onRevoked: () => gate.promise });
    const closed = observe(member.session.close());
    const other = world.member({ groupProtocol });
    void other.start();
    await world.until(() => other.session.generation > 0);
    await world.runtime.advance(SOME_BEATS_MS);
    gate.resolve();
    await world.until(() => closed.ended);
    await other.session.close();
    expect(member.callbacks).toEqual(['assigned t-0 t-1', 'revoked t-0 t-1']);
  });

  it('is given nothing more when another one leaves meanwhile', async () => {
    const world = new TestGroup(2);
    const gate = new Deferred();
    const options = { groupProtocol, rebalanceTimeoutMs: 60_000 } as const;
    const other = await world.join(options);
    const member = await world.join(options, { onRevoked: () => gate.promise });
    await world.until(() => member.session.assignment().length === 1);
    const [own] = member.session.assignment();
    const closed = observe(member.session.close());
    await other.session.close();
    await world.runtime.advance(SOME_BEATS_MS);
    gate.resolve();
    await world.until(() => closed.ended);
    expect(member.callbacks.filter((line) => line !== 'assigned')).toEqual([
      `assigned t-${own?.partition}`,
      `revoked t-${own?.partition}`,
    ]);
  });
});
