import { ClosedError } from '../../../port/errors.js';
import { FetcherUnderTest, batchAt, records } from './fetcher.spec-support.js';

describe('Fetcher, with a topic whose id is unknown at the assignment', () => {
  it('binds the partition to the first topic id that it receives', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.topicId = 'a'.repeat(32);
    await test.cluster.metadata.refresh(['orders']);
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'a') });
    await test.runtime.settle();
    await test.records.poll(10);
    test.topicId = 'b'.repeat(32);
    await test.cluster.metadata.refresh(['orders']);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    expect(test.events).toContain('stopped 0 TOPIC_RECREATED');
  });
});

describe('Fetcher, after a seek while the topic id is unknown', () => {
  it('stops the partition if a new topic has its name, instead of reading that topic from the middle', async () => {
    const test = new FetcherUnderTest();
    test.topicId = 'a'.repeat(32);
    await test.own(0);
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'a', 'b', 'c') });
    await test.runtime.settle();
    await test.records.poll(10);
    test.topicId = null;
    test.metadataCode = 3;
    test.leaders = [];
    test.pendingFetch('fetch-long').answer({ partition: 0, code: 100 });
    await test.runtime.advance(500);
    const owned = test.ownedPartitions.get({ topic: 'orders', partition: 0 });
    owned?.setTopicId(test.cluster.metadata.topic('orders')?.id ?? null);
    owned?.moveTo(2);
    test.fetcher.wake();
    await test.runtime.advance(500);
    test.topicId = 'b'.repeat(32);
    test.metadataCode = 0;
    test.leaders = [1];
    await test.runtime.advance(5_000);
    expect(test.events).toContain('stopped 0 TOPIC_RECREATED');
  });
});

describe('Fetcher, with one broker or several', () => {
  it('sends one long poll for all partitions that want records', async () => {
    const test = new FetcherUnderTest();
    await test.own(0, 1);
    expect(test.fetches).toHaveLength(1);
    expect(test.fetches[0]).toMatchObject({ node: 1, maxWaitMs: 5_000, offsets: { 0: 0, 1: 0 } });
  });

  it('fetches the next records while the previous ones are still being handled', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'a', 'b') });
    await test.runtime.settle();
    expect(test.fetches).toHaveLength(2);
    expect(test.pendingFetch('fetch-long').offsets).toEqual({ 0: 2 });
    expect(await records(test)).toEqual(['a', 'b']);
  });

  it('keeps at most two responses per partition in memory', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    for (const offset of [0, 1]) {
      test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(offset, 'x') });
      await test.runtime.settle();
    }
    expect(test.fetches).toHaveLength(2);
    expect(await records(test, 1)).toEqual(['x']);
    await test.runtime.settle();
    expect(test.fetches).toHaveLength(3);
  });

  it('fetches each partition from its leader', async () => {
    const test = new FetcherUnderTest();
    test.leaders = [1, 2, 1, 2];
    await test.own(0, 1, 2);
    expect(test.fetches.map(({ node, offsets }) => [node, Object.keys(offsets)])).toEqual([
      [1, ['0', '2']],
      [2, ['1']],
    ]);
  });

  it('rotates the partitions from one request to the next, because the broker fills the first one first', async () => {
    const test = new FetcherUnderTest();
    await test.own(0, 1);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    expect(test.fetches.map(({ order }) => order)).toEqual([
      [0, 1],
      [1, 0],
    ]);
  });
});

describe('Fetcher, with a partition that wants records during a long poll', () => {
  async function withLongPollFor1(): Promise<FetcherUnderTest> {
    const test = new FetcherUnderTest();
    test.ownedPartitions.pause([{ topic: 'orders', partition: 0 }]);
    await test.own(0, 1);
    await test.runtime.advance(100);
    test.ownedPartitions.resume([{ topic: 'orders', partition: 0 }]);
    test.fetcher.wake();
    await test.runtime.settle();
    return test;
  }

  it('fetches the partition at once, on another connection and without waiting', async () => {
    const test = await withLongPollFor1();
    expect(test.pendingFetch('control')).toMatchObject({ maxWaitMs: 0, offsets: { 0: 0 } });
  });

  it('adds the partition to a second long poll if the leader has no records for it yet', async () => {
    const test = await withLongPollFor1();
    test.pendingFetch('control').answerEmpty();
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-side')).toMatchObject({ maxWaitMs: 5_000, offsets: { 0: 0 } });
    test.pendingFetch('fetch-side').answer({ partition: 0, records: batchAt(0, 'late') });
    expect(await records(test)).toEqual(['late']);
  });

  it('fetches the partition after a short delay if both long polls are under way', async () => {
    const test = await withLongPollFor1();
    test.pendingFetch('control').answerEmpty();
    await test.runtime.settle();
    const owned = test.ownedPartitions.add({ topic: 'orders', partition: 2 }, null);
    owned.moveTo(0);
    owned.deliverable = true;
    test.fetcher.wake();
    await test.runtime.settle();
    test.pendingFetch('control').answerEmpty();
    await test.runtime.settle();
    const asked = test.fetches.length;
    await test.runtime.advance(150);
    expect(test.fetches.length).toBe(asked + 1);
    expect(test.pendingFetch('control').offsets).toEqual({ 2: 0 });
  });
});

describe('Fetcher, after a response', () => {
  it('discards records of the old position if a seek happened during the fetch', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    const old = test.pendingFetch('fetch-long');
    test.ownedPartitions.get({ topic: 'orders', partition: 0 })?.moveTo(7);
    old.answer({ partition: 0, records: batchAt(0, 'old') });
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-long').offsets).toEqual({ 0: 7 });
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(7, 'new') });
    expect(await records(test)).toEqual(['new']);
  });

  it('ignores a partition that was not requested', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test
      .pendingFetch('fetch-long')
      .answer(
        { partition: 3, records: batchAt(0, 'foreign') },
        { partition: 0, records: batchAt(0, 'ours') },
      );
    expect(await records(test)).toEqual(['ours']);
  });

  it('keeps the records of a paused partition until it is resumed', async () => {
    const test = new FetcherUnderTest();
    await test.own(0, 1);
    test.ownedPartitions.pause([{ topic: 'orders', partition: 0 }]);
    test
      .pendingFetch('fetch-long')
      .answer(
        { partition: 0, records: batchAt(0, 'held') },
        { partition: 1, records: batchAt(0, 'given') },
      );
    expect(await records(test)).toEqual(['given']);
    test.ownedPartitions.resume([{ topic: 'orders', partition: 0 }]);
    expect(await records(test)).toEqual(['held']);
  });

  it('backs off if the records do not advance the position', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.ownedPartitions.get({ topic: 'orders', partition: 0 })?.moveTo(5);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'below') });
    await test.runtime.settle();
    expect(test.fetches).toHaveLength(2);
    await test.runtime.advance(60);
    expect(test.fetches).toHaveLength(3);
  });

  it('backs off if the response leaves a requested partition out', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.pendingFetch('fetch-long').answer();
    await test.runtime.settle();
    expect(test.fetches).toHaveLength(1);
    await test.runtime.advance(60);
    expect(test.fetches).toHaveLength(2);
  });
});

it('Fetcher sends no request after close(), and closes its connections', async () => {
  const test = new FetcherUnderTest();
  await test.own(0);
  test.fetcher.close(new ClosedError('closed'));
  await test.runtime.advance(60_000);
  expect(test.fetches).toHaveLength(1);
  expect(test.events).toEqual(['closed fetch-long:s', 'closed fetch-side:s']);
  expect(test.runtime.pendingTimers).toBe(0);
});
