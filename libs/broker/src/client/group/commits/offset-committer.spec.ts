import {
  CommitRefusedError,
  ConnectionError,
  FencedError,
  OffsetMetadataTooLargeError,
  RequestTimeoutError,
  type CommitError,
} from '../../../port/errors.js';
import { Deferred } from '../../../runtime/index.js';
import { brokerCodes, reactionTo } from '../../../wire/index.js';
import { CommitCall } from './commit-call.js';
import { at, answering, CommitterTest } from './offset-committer.spec-support.js';

describe('OffsetCommitter', () => {
  let test: CommitterTest;
  beforeEach(() => (test = new CommitterTest()));
  afterEach(() => {
    test.cluster.verify();
    expect(test.runtime.pendingTimers).toBe(0);
  });

  it('sends offset, epoch and metadata, always with its member id and generation (KAFKA-14201)', async () => {
    test.cluster.once('OffsetCommit', answering());
    const full = { ...at(1, 7), leaderEpoch: 3, metadata: 'done' };
    await test.committer.commit([full]);
    expect(test.cluster.requests('OffsetCommit')).toMatchObject([
      { memberId: 'me', generation: 1, channel: 'group:s1', commits: [full] },
    ]);
  });

  it('sends no request without offsets', async () => {
    await test.committer.commit([]);
    expect(test.requests).toEqual([]);
  });

  it('has one request under way, and sends the newest offset of each partition in the next one (franz-go 416e8269)', async () => {
    const first = await test.commitUnderWay(1);
    const later = [at(0, 2), at(1, 5), at(0, 3)].map((offset) => test.commit(offset));
    await test.runtime.advance(1_000);
    expect(test.requests).toEqual(['0:1']);
    test.cluster.once('OffsetCommit', answering());
    first.answer();
    expect(await Promise.all([first.done, ...later])).toEqual(Array(4).fill('stored'));
    expect(test.requests).toEqual(['0:1', '0:3 1:5']);
  });

  it('sends all commits of one turn of the event loop in one request', async () => {
    test.cluster.once('OffsetCommit', answering());
    await Promise.all([0, 1, 2].map((partition) => test.commit(at(partition, 1))));
    expect(test.requests).toEqual(['0:1 1:1 2:1']);
  });

  it.each([
    ['a broken connection', new ConnectionError('gone')],
    ['a timeout', new RequestTimeoutError('silence')],
  ])('resends the newest offset after %s, because the result is unknown', async (_, error) => {
    const first = await test.commitUnderWay(1);
    const second = test.commit(at(0, 2));
    test.cluster.once('OffsetCommit', answering());
    first.lose(error);
    await test.runtime.advance(200);
    expect(await Promise.all([first.done, second])).toEqual(['stored', 'stored']);
    expect(test.requests).toEqual(['0:1', '0:2']);
    expect(test.cluster.requests('GroupCoordinator')).toHaveLength(2);
  });

  it('closes the connection when a request times out, before it sends another one', async () => {
    test.cluster.once('OffsetCommit', () => new Deferred().promise);
    const done = test.commit(at(0, 1));
    await test.runtime.advance(test.cluster.requestTimeoutMs);
    expect(test.cluster.closedChannels).toEqual(['group:s1']);
    expect(test.requests).toEqual(['0:1']);
    expect(await done).toBeInstanceOf(CommitRefusedError);
    await test.runtime.advance(1_000);
  });

  it('resends the offset of a partition that the response leaves out', async () => {
    test.cluster.once('OffsetCommit', [], answering());
    const done = test.commit(at(0, 1));
    await test.runtime.advance(200);
    expect(await done).toBe('stored');
  });

  it.each([3, 7, 14, 15, 16])('resends after code %i until the offset is stored', async (code) => {
    test.cluster.once('OffsetCommit', answering({ 0: code }), answering({ 0: code }), answering());
    const done = test.commit(at(0, 1), at(1, 1));
    await test.runtime.advance(1_000);
    expect(await done).toBe('stored');
    expect(test.requests).toEqual(['0:1 1:1', '0:1', '0:1']);
    const lookups = reactionTo('commit', code) === 'find-coordinator' ? 3 : 1;
    expect(test.cluster.requests('GroupCoordinator')).toHaveLength(lookups);
  });

  it('rejects a commit with code 3 at once if the topic is deleted, and does not delay other commits', async () => {
    test.cluster.topics.delete('orders');
    test.cluster.once('OffsetCommit', answering({ 0: 3 }), answering());
    const [before, started] = [test.commit(at(0, 1), at(1, 1)), test.runtime.monotonic()];
    expect(await before).toMatchObject({
      code: 'COMMIT_REFUSED',
      retriable: true,
      partitions: [{ topic: 'orders', partition: 0 }],
      cause: { code: 'UNKNOWN_TOPIC', topic: 'orders' },
    });
    expect(await test.commit(at(1, 2))).toBe('stored');
    expect(test.requests).toEqual(['0:1 1:1', '1:2']);
    expect(test.runtime.monotonic()).toBe(started);
  });

  it('rejects a commit with code 3 if the topic exists but the partition no longer does', async () => {
    test.cluster.once('OffsetCommit', answering({ 7: 3 }));
    expect(await test.commit(at(7, 1))).toMatchObject({
      code: 'COMMIT_REFUSED',
      cause: { code: 'UNKNOWN_PARTITION' },
    });
  });

  it('resends after code 3 while no broker knows whether the topic exists', async () => {
    test.cluster.metadataError = new ConnectionError('no broker');
    test.cluster.once('OffsetCommit', answering({ 0: 3 }), answering());
    const done = test.commit(at(0, 1));
    await test.runtime.advance(1_000);
    expect(await done).toBe('stored');
  });

  it('resends after code 3 if the topic was missing before and the metadata cannot be refreshed', async () => {
    test.cluster.topics.delete('orders');
    await test.cluster.metadata.refresh(['orders']);
    test.cluster.metadataError = new ConnectionError('no broker');
    test.cluster.once('OffsetCommit', answering({ 0: 3 }), answering());
    const done = test.commit(at(0, 1));
    await test.runtime.advance(1_000);
    expect(await done).toBe('stored');
  });

  it('rejects a commit as retriable after 30 s without success, and does not send its offset later', async () => {
    test.cluster.always('OffsetCommit', answering({ 0: 14 }));
    const done = test.commit(at(0, 1));
    await test.runtime.advance(29_999);
    test.cluster.always('OffsetCommit', answering({ 0: 14 }));
    await test.runtime.advance(2_000);
    expect(await done).toMatchObject({ code: 'COMMIT_REFUSED', retriable: true });
    const asked = test.requests.length;
    expect(asked).toBeLessThan(60);
    await test.runtime.advance(60_000);
    expect(test.requests).toHaveLength(asked);
  });

  it('waits for SyncGroup after code 27, then resends with the new generation if the partition is still owned', async () => {
    const synced = new Deferred();
    test.settled = synced.promise;
    test.cluster.once('OffsetCommit', answering({ 0: 27 }));
    const done = test.commit(at(0, 1));
    await test.runtime.advance(5_000);
    expect(test.requests).toHaveLength(1);
    test.cluster.once('OffsetCommit', answering());
    synced.resolve();
    await test.runtime.advance(200);
    expect(await done).toBe('stored');
  });

  it('rejects a commit as fenced after code 27 if the partition is owned only in a new generation (librdkafka #1802, #2782)', async () => {
    const synced = new Deferred();
    test.settled = synced.promise;
    test.cluster.once('OffsetCommit', answering({ 0: 27 }));
    const done = test.commit(at(0, 1));
    await test.runtime.settle();
    test.snapshot = { ...test.snapshot, generation: 2 };
    synced.resolve();
    await test.runtime.advance(200);
    expect(await done).toBeInstanceOf(FencedError);
    expect(test.requests).toHaveLength(1);
  });

  it.each([22, 25])(
    'rejects a commit with code %i as fenced, and reports the code to the membership (franz-go 1.21.3)',
    async (code) => {
      test.cluster.once('OffsetCommit', answering({ 0: code, 1: code }));
      const error = await test.commit(at(0, 1), at(1, 1));
      expect(error).toBeInstanceOf(FencedError);
      expect(error).toMatchObject({
        partitions: [
          { topic: 'orders', partition: 0 },
          { topic: 'orders', partition: 1 },
        ],
        cause: { brokerCode: code },
      });
      expect(test.expelled[0]).toBe(`me 1 ${code}`);
    },
  );

  it('rejects partitions as fenced that are not owned when commit is called, and stores the others', async () => {
    test.cluster.once('OffsetCommit', answering());
    test.notOwned.add(0);
    const result = test.commit(at(0, 1), at(1, 1));
    test.notOwned.delete(0);
    expect(await result).toMatchObject({ code: 'FENCED', partitions: [{ partition: 0 }] });
    expect(test.requests).toEqual(['1:1']);
  });

  it('rejects partitions as fenced that are no longer owned when the request is sent, and stores the others', async () => {
    test.cluster.once('OffsetCommit', answering());
    const result = test.commit(at(0, 1), at(1, 1));
    test.notOwned.add(0);
    expect(await result).toMatchObject({ code: 'FENCED', partitions: [{ partition: 0 }] });
    expect(test.requests).toEqual(['1:1']);
  });

  it('lists every partition whose offset was not stored if one is not owned and another is refused', async () => {
    test.cluster.once('OffsetCommit', answering({ 1: 12 }));
    test.notOwned.add(2);
    const error = await test.commit(at(0, 1), at(1, 1), at(2, 1));
    expect(error).toMatchObject({
      code: 'FENCED',
      partitions: [{ partition: 2 }, { partition: 1 }],
    });
  });

  it('sends no request if no partition is owned', async () => {
    test.notOwned.add(0);
    expect(await test.commit(at(0, 1))).toMatchObject({ code: 'FENCED' });
    expect(test.requests).toEqual([]);
  });

  it('rejects waiting commits as fenced when the membership ends, and stores commits of the next one', async () => {
    const first = await test.commitUnderWay(1);
    const before = test.commit(at(0, 100));
    test.snapshot = { ...test.snapshot, generation: 2 };
    const after = test.commit(at(0, 50));
    test.cluster.once('OffsetCommit', answering());
    first.answer();
    expect(await before).toBeInstanceOf(FencedError);
    expect(await after).toBe('stored');
    expect(test.requests).toEqual(['0:1', '0:50']);
  });

  it('rejects only the partition whose metadata is too large', async () => {
    test.cluster.once('OffsetCommit', answering({ 1: 12 }));
    const error = await test.commit(at(0, 1), at(1, 1));
    expect(error).toBeInstanceOf(OffsetMetadataTooLargeError);
    expect(error).toMatchObject({ partitions: [{ topic: 'orders', partition: 1 }] });
  });

  it('rejects with the most severe of several failures, and lists all partitions', async () => {
    test.cluster.once('OffsetCommit', answering({ 0: 12, 1: 22, 2: 28 }));
    const error = await test.commit(at(0, 1), at(1, 1), at(2, 1), at(3, 1));
    expect(error).toMatchObject({
      code: 'FENCED',
      partitions: [{ partition: 0 }, { partition: 1 }, { partition: 2 }],
    });
  });

  it('rejects a commit instead of resending it in a hot loop if no timer can be set', async () => {
    const first = await test.commitUnderWay(1);
    const second = test.commit(at(1, 5));
    await test.runtime.settle();
    const setTimer = test.runtime.setTimer.bind(test.runtime);
    test.runtime.setTimer = () => {
      test.runtime.setTimer = setTimer;
      throw new TypeError('no timer here');
    };
    first.lose(new ConnectionError('gone'));
    const outcomes = await Promise.all([first.done, second]);
    expect(outcomes.map((outcome) => outcome !== 'stored' && outcome.cause)).toEqual([
      expect.any(TypeError),
      expect.any(TypeError),
    ]);
    expect(test.requests).toEqual(['0:1']);
  });

  it('sends nothing once the session is closed', async () => {
    test.coordinator.close();
    const error = await test.commit(at(0, 1));
    expect(error).toMatchObject({ code: 'COMMIT_REFUSED', cause: { code: 'CLOSED' } });
    expect(test.requests).toEqual([]);
  });

  it.each([...brokerCodes.keys()].filter((code) => code !== 0))(
    'resolves or rejects the commit within a limited time for code %i',
    async (code) => {
      test.cluster.always('OffsetCommit', answering({ 0: code }));
      const done = test.commit(at(0, 1));
      await test.runtime.advance(35_000);
      expect(['FENCED', 'OFFSET_METADATA_TOO_LARGE', 'COMMIT_REFUSED']).toContain(
        ((await done) as CommitError).code,
      );
    },
  );
});

describe('OffsetCommitter, with commits that have timed out', () => {
  it('keeps no reference to them, however long the coordinator is unavailable', async () => {
    const test = new CommitterTest();
    test.cluster.always('OffsetCommit', answering({ 0: 14 }));
    for (let second = 0; second < 300; second++) {
      test.committer.commit([at(0, second)]).catch(() => undefined);
      await test.runtime.advance(1_000);
    }
    const stored = jest.spyOn(CommitCall.prototype, 'markStored');
    test.cluster.always('OffsetCommit', answering());
    await test.runtime.advance(60_000);
    // Only the commits of the last 30 seconds get a result.
    expect(stored.mock.calls.length).toBeGreaterThan(20);
    expect(stored.mock.calls.length).toBeLessThan(40);
    stored.mockRestore();
  });
});
