import { ConnectionError } from '../../../port/errors.js';
import { FetcherUnderTest, batchAt, batchOfEpoch } from './fetcher.spec-support.js';

const OFFSET_OUT_OF_RANGE = 1;
const NOT_LEADER = 6;

/** Creates a fetcher whose leader, node 1, has named node 3 as the preferred replica. */
async function sentAway(): Promise<FetcherUnderTest> {
  const test = new FetcherUnderTest({ rackId: 'here' });
  test.nodes = [1, 3];
  await test.own(0);
  test.pendingFetch('fetch-long').answer({ partition: 0, preferredReplica: 3 });
  await test.runtime.settle();
  return test;
}

describe('Fetcher, with a preferred replica', () => {
  it('fetches from the replica at once, at the same offset, when the leader names it', async () => {
    const test = await sentAway();
    expect(test.fetches.map(({ node, rackId }) => [node, rackId])).toEqual([
      [1, 'here'],
      [3, 'here'],
    ]);
    expect(test.pendingFetch('fetch-long').offsets).toEqual({ 0: 0 });
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'a') });
    expect((await test.records.poll(1)).map(({ value }) => String(value))).toEqual(['a']);
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-long')).toMatchObject({ node: 3, offsets: { 0: 1 } });
  });

  it('returns to the leader when the lease of the replica expires', async () => {
    const test = await sentAway();
    await test.runtime.advance(299_000);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-long').node).toBe(3);
    await test.runtime.advance(2_000);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-long').node).toBe(1);
  });

  it.each([OFFSET_OUT_OF_RANGE, NOT_LEADER])(
    'returns to the leader if the replica refuses with code %d, and reports only errors of the leader',
    async (code) => {
      const test = await sentAway();
      test.pendingFetch('fetch-long').answer({ partition: 0, code });
      await test.runtime.advance(100);
      expect(test.pendingFetch('fetch-long')).toMatchObject({
        node: 1,
        rackId: '',
        offsets: { 0: 0 },
      });
      expect(test.events.filter((event) => event.startsWith('out of range'))).toEqual([]);
      test.pendingFetch('fetch-long').answer({ partition: 0, code: OFFSET_OUT_OF_RANGE });
      await test.runtime.settle();
      expect(test.events).toContain('out of range 0');
    },
  );

  it('returns to the leader if the replica cannot be reached', async () => {
    const test = await sentAway();
    test.pendingFetch('fetch-long').answered.reject(new ConnectionError('gone'));
    await test.runtime.advance(200);
    // With the rack in the request the leader would name the same replica until it notices that the
    // replica is down.
    expect(test.pendingFetch('fetch-long')).toMatchObject({ node: 1, rackId: '' });
    await test.runtime.advance(30_000);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-long')).toMatchObject({ node: 1, rackId: 'here' });
  });

  it('backs off while the metadata do not contain the replica', async () => {
    const test = await sentAway();
    test.pendingFetch('fetch-long').answer({ partition: 0, code: NOT_LEADER });
    await test.runtime.advance(30_100);
    test.pendingFetch('fetch-long').answer({ partition: 0, preferredReplica: 9 });
    const asked = test.fetches.length;
    await test.runtime.settle();
    expect(test.fetches).toHaveLength(asked);
    test.nodes = [1, 9];
    await test.cluster.metadata.refresh(['orders']);
    await test.runtime.advance(100);
    test.pendingFetch('fetch-long').answer({ partition: 0, preferredReplica: 9 });
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-long').node).toBe(9);
  });

  it('returns to the leader if the replica has left the cluster', async () => {
    const test = await sentAway();
    test.nodes = [1];
    await test.cluster.metadata.refresh(['orders']);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-long').node).toBe(1);
  });

  it('fetches from the new leader first after an election', async () => {
    const test = await sentAway();
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchOfEpoch(0, 0, 'a') });
    await test.records.poll(1);
    await test.runtime.settle();
    test.leaders = [2, 2, 2, 2];
    test.leaderEpoch = 1;
    test.epochEnd = () => ({ leaderEpoch: 0, endOffset: 1 });
    await test.cluster.metadata.refresh(['orders']);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    expect(test.epochQueries).toMatchObject([{ node: 2 }]);
    expect(test.pendingFetch('fetch-long').node).toBe(2);
  });
});

describe('Fetcher without a rack', () => {
  it('sends an empty rack, so that no leader redirects it', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    expect(test.pendingFetch('fetch-long').rackId).toBe('');
  });
});
