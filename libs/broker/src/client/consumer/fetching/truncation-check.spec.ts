import { ConnectionError } from '../../../port/errors.js';
import { Deferred } from '../../../runtime/index.js';
import type { EpochEnd } from '../../../wire/index.js';
import { FetcherUnderTest, batchOfEpoch } from './fetcher.spec-support.js';
import type { OwnedPartition } from './owned-partition.js';

const FENCED_LEADER_EPOCH = 74;
const UNKNOWN_LEADER_EPOCH = 75;
const NOT_LEADER = 6;

type Scene = FetcherUnderTest & { readonly owned: OwnedPartition };

/** Creates a fetcher that has read these records from the leader of this epoch. */
async function afterReading(leaderEpoch: number, ...batches: Buffer[]): Promise<Scene> {
  const test = new FetcherUnderTest();
  test.leaderEpoch = leaderEpoch;
  await test.own(0);
  test.pendingFetch('fetch-long').answer({ partition: 0, records: Buffer.concat(batches) });
  await test.records.poll(100);
  await test.runtime.settle();
  const owned = test.ownedPartitions.get({ topic: 'orders', partition: 0 });
  if (!owned) throw new Error('It owns partition 0.');
  return Object.assign(test, { owned });
}

/**
 * Creates a fetcher that has read three records of epoch 0, and makes node 2 the leader in epoch 1.
 */
async function afterElection(): Promise<Scene> {
  const test = await afterReading(0, batchOfEpoch(0, 0, 'a', 'b', 'c'));
  test.leaders = [2, 2, 2, 2];
  test.leaderEpoch = 1;
  return test;
}

const electNewLeader = async (test: FetcherUnderTest): Promise<void> => {
  test.pendingFetch('fetch-long').answer({ partition: 0, code: NOT_LEADER });
  await test.runtime.advance(100);
};

describe('TruncationCheck, with a leader of another epoch', () => {
  it('asks the leader about the records that were read, before it fetches more', async () => {
    const test = await afterElection();
    const answer = new Deferred<Partial<EpochEnd>>();
    test.epochEnd = () => answer.promise;
    const before = test.fetches.length;
    await electNewLeader(test);
    expect(test.epochQueries).toEqual([{ node: 2, partition: 0, currentEpoch: 1, epoch: 0 }]);
    expect(test.fetches).toHaveLength(before);
    answer.resolve({ leaderEpoch: 0, endOffset: 3 });
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-long')).toMatchObject({
      node: 2,
      offsets: { 0: 3 },
      leaderEpochs: [1],
    });
  });

  it('asks the leader only once per leader epoch', async () => {
    const test = await afterElection();
    test.epochEnd = () => ({ leaderEpoch: 0, endOffset: 9 });
    await electNewLeader(test);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    expect(test.epochQueries).toHaveLength(1);
  });

  it('asks nothing if no records were read', async () => {
    const test = new FetcherUnderTest();
    test.leaderEpoch = 5;
    await test.own(0);
    expect(test.epochQueries).toEqual([]);
    expect(test.fetches).toHaveLength(1);
  });

  it("reports the truncation if the leader's log is shorter, and stops fetching", async () => {
    const test = await afterElection();
    test.epochEnd = () => ({ leaderEpoch: 0, endOffset: 2 });
    const before = test.fetches.length;
    await electNewLeader(test);
    await test.runtime.advance(60_000);
    expect(test.events).toContain('truncated 0 2 of 0');
    expect(test.fetches).toHaveLength(before);
  });

  it('reports the truncation if the leader does not know the epoch', async () => {
    const test = await afterElection();
    test.epochEnd = () => ({ leaderEpoch: -1, endOffset: -1 });
    await electNewLeader(test);
    expect(test.events).toContain('truncated 0 ?');
  });

  it('drops records that the previous leader had sent and fetches them again', async () => {
    const test = await afterElection();
    test.epochEnd = () => ({ leaderEpoch: 0, endOffset: 4 });
    test
      .pendingFetch('fetch-long')
      .answer({ partition: 0, records: batchOfEpoch(0, 3, 'old', 'old') });
    await test.runtime.settle();
    await electNewLeader(test);
    expect(test.pendingFetch('fetch-long').offsets).toEqual({ 0: 3 });
    test.pendingFetch('fetch-long').answer({
      partition: 0,
      records: Buffer.concat([batchOfEpoch(0, 3, 'old'), batchOfEpoch(1, 4, 'new')]),
    });
    const values = (await test.records.poll(10)).map(({ value }) => String(value));
    expect(values).toEqual(['old', 'new']);
    expect(test.events.filter((event) => event.startsWith('truncated'))).toEqual([]);
  });

  it('asks again about the last known epoch if other leaders were elected in between', async () => {
    const test = await afterReading(3, batchOfEpoch(0, 0, 'a'), batchOfEpoch(3, 1, 'b', 'c'));
    test.leaderEpoch = 4;
    test.epochEnd = ({ epoch }) =>
      epoch === 3 ? { leaderEpoch: 2, endOffset: 9 } : { leaderEpoch: 0, endOffset: 1 };
    await electNewLeader(test);
    expect(test.epochQueries.map(({ epoch }) => epoch)).toEqual([3, 0]);
    expect(test.events).toContain('truncated 0 1 of 0');
  });

  it('asks about the offset of a seek, with the epoch of the record before it', async () => {
    const test = await afterReading(1, batchOfEpoch(0, 0, 'a', 'b'), batchOfEpoch(1, 2, 'c'));
    test.owned.moveTo(1);
    test.leaderEpoch = 2;
    test.epochEnd = () => ({ leaderEpoch: 0, endOffset: 2 });
    await electNewLeader(test);
    expect(test.epochQueries).toMatchObject([{ epoch: 0 }]);
  });

  it('asks about an offset that another member has committed', async () => {
    const test = new FetcherUnderTest();
    test.leaderEpoch = 3;
    test.epochEnd = () => ({ leaderEpoch: 2, endOffset: 4 });
    await test.cluster.metadata.refresh(['orders']);
    const owned = test.ownedPartitions.add({ topic: 'orders', partition: 0 }, null);
    owned.moveTo(5, 2);
    test.fetcher.wake();
    await test.runtime.settle();
    expect(test.events).toEqual(['truncated 0 4 of 2']);
  });
});

describe('TruncationCheck, with a leader that gives no valid answer', () => {
  it('refreshes the metadata after FENCED_LEADER_EPOCH and asks again', async () => {
    const test = await afterElection();
    test.epochEnd = ({ currentEpoch }) => {
      if (currentEpoch === 2) return { leaderEpoch: 0, endOffset: 3 };
      test.leaderEpoch = 2;
      return { code: FENCED_LEADER_EPOCH };
    };
    await electNewLeader(test);
    await test.runtime.advance(200);
    expect(test.epochQueries.map(({ currentEpoch }) => currentEpoch)).toEqual([1, 2]);
    expect(test.pendingFetch('fetch-long').leaderEpochs).toEqual([2]);
  });

  it('asks again after a backoff on UNKNOWN_LEADER_EPOCH', async () => {
    const test = await afterElection();
    test.epochEnd = () =>
      test.epochQueries.length < 4
        ? { code: UNKNOWN_LEADER_EPOCH }
        : { leaderEpoch: 0, endOffset: 3 };
    await electNewLeader(test);
    expect(test.epochQueries.length).toBeLessThan(4);
    await test.runtime.advance(500);
    expect(test.epochQueries).toHaveLength(4);
    expect(test.pendingFetch('fetch-long').node).toBe(2);
  });

  it('reports an error only if the leader refuses for a long time', async () => {
    const test = await afterElection();
    let code = UNKNOWN_LEADER_EPOCH;
    test.epochEnd = () => ({ code, leaderEpoch: 0, endOffset: 3 });
    const errors = () => test.events.filter((event) => event.startsWith('error'));
    await electNewLeader(test);
    await test.runtime.advance(1_800);
    expect(errors()).toEqual([]);
    await test.runtime.advance(500);
    expect(errors()[0]).toBe('error 0 RefusedError');
    code = 0;
    await test.runtime.advance(100);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    expect(test.events.at(-1)).toBe('progress 0');
  });

  it('reports a lost connection and asks again', async () => {
    const test = await afterElection();
    let isGone = true;
    test.epochEnd = () => {
      if (isGone) throw new ConnectionError('gone');
      return { leaderEpoch: 0, endOffset: 3 };
    };
    await electNewLeader(test);
    expect(test.events).toContain('error 0 ConnectionError');
    isGone = false;
    await test.runtime.advance(5_000);
    expect(test.pendingFetch('fetch-long').node).toBe(2);
  });

  it('discards an answer that arrives after a seek', async () => {
    const test = await afterElection();
    const answer = new Deferred<Partial<EpochEnd>>();
    test.epochEnd = () => answer.promise;
    await electNewLeader(test);
    test.owned.moveTo(100);
    test.fetcher.wake();
    answer.resolve({ leaderEpoch: 0, endOffset: 1 });
    await test.runtime.settle();
    expect(test.events.filter((event) => event.startsWith('truncated'))).toEqual([]);
    expect(test.pendingFetch('fetch-long').offsets).toEqual({ 0: 100 });
  });
});

describe('Fetcher, with a leader epoch that the broker rejects', () => {
  it('refreshes the metadata after FENCED_LEADER_EPOCH', async () => {
    const test = await afterElection();
    test.epochEnd = () => ({ leaderEpoch: 0, endOffset: 3 });
    test.pendingFetch('fetch-long').answer({ partition: 0, code: FENCED_LEADER_EPOCH });
    await test.runtime.advance(200);
    expect(test.epochQueries).toHaveLength(1);
    expect(test.pendingFetch('fetch-long').leaderEpochs).toEqual([1]);
  });

  it('repeats the fetch after UNKNOWN_LEADER_EPOCH and does not refresh the metadata', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.leaders = [2, 2, 2, 2];
    test.pendingFetch('fetch-long').answer({ partition: 0, code: UNKNOWN_LEADER_EPOCH });
    await test.runtime.advance(200);
    expect(test.fetches.map(({ node }) => node)).toEqual([1, 1]);
    expect(test.events).toEqual([]);
  });
});
