import { FencedError } from '../../../port/errors.js';
import { Deferred } from '../../../runtime/index.js';
import { at, answering, CommitterTest } from './offset-committer.spec-support.js';

describe('OffsetCommitter, during a cooperative rebalance', () => {
  const next = (test: CommitterTest): void => {
    test.snapshot = { ...test.snapshot, generation: 2 };
    test.owns = () => true;
  };

  it('stores a commit in the next generation if its own generation ended before the commit arrived', async () => {
    const test = new CommitterTest();
    const sync = new Deferred();
    test.settled = sync.promise;
    test.hasNewGeneration = true;
    test.cluster.once('OffsetCommit', answering({ 0: 22 }), answering());
    const done = test.commit(at(0, 7));
    await test.runtime.advance(10_000);
    expect(test.requests).toEqual(['0:7']);
    next(test);
    sync.resolve();
    await test.runtime.advance(100);
    expect(await done).toBe('stored');
    expect(test.cluster.requests('OffsetCommit').at(-1)?.generation).toBe(2);
    expect(test.expelled).toEqual([]);
  });

  it('rejects a commit as fenced if the partition is not owned in the next generation', async () => {
    const test = new CommitterTest();
    test.hasNewGeneration = true;
    test.cluster.once('OffsetCommit', answering({ 0: 22 }));
    const done = test.commit(at(0, 7));
    await test.runtime.settle();
    test.owns = () => false;
    await test.runtime.advance(100);
    expect(await done).toBeInstanceOf(FencedError);
    expect(test.requests).toEqual(['0:7']);
  });

  it('resolves a waiting commit if a newer one of the next generation is stored', async () => {
    const test = new CommitterTest();
    const first = await test.commitUnderWay(1);
    const second = test.commit(at(0, 2));
    next(test);
    const third = test.commit(at(0, 3));
    test.cluster.once('OffsetCommit', answering());
    first.answer();
    expect(await Promise.all([first.done, second, third])).toEqual(['stored', 'stored', 'stored']);
    expect(test.requests).toEqual(['0:1', '0:3']);
  });

  it('rejects a commit with code 82 as fenced and reports the code to the membership', async () => {
    const test = new CommitterTest();
    test.cluster.once('OffsetCommit', answering({ 0: 82 }));
    expect(await test.commit(at(0, 1))).toBeInstanceOf(FencedError);
    expect(test.expelled).toEqual(['me 1 82']);
  });
});

describe('OffsetCommitter, as a member of the KIP-848 protocol', () => {
  const test = (): CommitterTest => {
    const each = new CommitterTest();
    each.snapshot = { ...each.snapshot, generation: 5, protocol: 'consumer' };
    return each;
  };

  it('sends the member id, the epoch, the metadata and the leader epoch', async () => {
    const each = test();
    each.cluster.once('OffsetCommit', answering());
    const full = { ...at(1, 7), leaderEpoch: 3, metadata: 'done' };
    await each.committer.commit([full]);
    expect(each.cluster.requests('OffsetCommit')).toMatchObject([
      { memberId: 'me', generation: 5, commits: [full] },
    ]);
  });

  it('stores a commit in the next epoch after code 113 if the partition is still owned', async () => {
    const each = test();
    each.cluster.once('OffsetCommit', answering({ 0: 113 }), answering());
    const done = each.commit(at(0, 7));
    await each.runtime.settle();
    each.snapshot = { ...each.snapshot, generation: 6 };
    each.owns = () => true;
    await each.runtime.advance(100);
    expect(await done).toBe('stored');
    expect(each.cluster.requests('OffsetCommit').map(({ generation }) => generation)).toEqual([
      5, 6,
    ]);
    expect(each.expelled).toEqual([]);
  });

  it('rejects a commit after code 113 if the partition was lost in the meantime', async () => {
    const each = test();
    each.cluster.once('OffsetCommit', answering({ 0: 113 }));
    const done = each.commit(at(0, 7));
    await each.runtime.settle();
    each.owns = () => false;
    await each.runtime.advance(100);
    expect(await done).toBeInstanceOf(FencedError);
    expect(each.requests).toEqual(['0:7']);
  });

  it('rejects a commit with code 25 as fenced and reports the code to the membership', async () => {
    const each = test();
    each.cluster.once('OffsetCommit', answering({ 0: 25 }));
    expect(await each.commit(at(0, 1))).toBeInstanceOf(FencedError);
    expect(each.expelled).toEqual(['me 5 25']);
  });
});
