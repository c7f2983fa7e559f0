import { Deferred } from '../../../runtime/index.js';
import { observe } from '../../broker/test-cluster.spec-support.js';
import { TestGroup } from './test-group.spec-support.js';

const groupProtocol = 'consumer';
const SOME_BEATS_MS = 30_000;

describe('a closing member of the consumer protocol', () => {
  it('revokes each partition once if another member joins meanwhile', async () => {
    const group = new TestGroup(2);
    const gate = new Deferred();
    const options = { groupProtocol, rebalanceTimeoutMs: 60_000 } as const;
    const member = await group.join(options, { onRevoked: () => gate.promise });
    const closed = observe(member.session.close());
    const other = group.member({ groupProtocol });
    void other.start();
    await group.until(() => other.session.generation > 0);
    await group.runtime.advance(SOME_BEATS_MS);
    gate.resolve();
    await group.until(() => closed.ended);
    await other.session.close();
    expect(member.callbacks).toEqual(['assigned t-0 t-1', 'revoked t-0 t-1']);
  });

  it('gets no further partitions if another member leaves meanwhile', async () => {
    const group = new TestGroup(2);
    const gate = new Deferred();
    const options = { groupProtocol, rebalanceTimeoutMs: 60_000 } as const;
    const other = await group.join(options);
    const member = await group.join(options, { onRevoked: () => gate.promise });
    await group.until(() => member.session.assignment().length === 1);
    const [own] = member.session.assignment();
    const closed = observe(member.session.close());
    await other.session.close();
    await group.runtime.advance(SOME_BEATS_MS);
    gate.resolve();
    await group.until(() => closed.ended);
    expect(member.callbacks.filter((line) => line !== 'assigned')).toEqual([
      `assigned t-${own?.partition}`,
      `revoked t-${own?.partition}`,
    ]);
  });
});
