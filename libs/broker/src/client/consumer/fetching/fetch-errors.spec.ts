import { ConnectionError } from '../../../port/errors.js';
import { brokerCodes, reactionTo } from '../../../wire/index.js';
import { FetcherUnderTest, batchAt, type PendingFetch, records } from './fetcher.spec-support.js';

describe('Fetcher, for each error code of a fetch', () => {
  const codes = [...brokerCodes.values()].map(({ code, name }) => [name, code] as const);

  it.each(codes)('backs off, and resolves or reports %s', async (_name, code) => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.pendingFetch('fetch-long').answer({ partition: 0, code });
    await test.runtime.settle();
    const reported = test.events.filter((event) => !event.startsWith('progress'));
    await test.runtime.advance(49);
    expect(test.fetches).toHaveLength(1);
    await test.runtime.advance(2_100);
    switch (reactionTo('fetch', code)) {
      case 'out-of-range':
        expect(reported).toEqual(['out of range 0']);
        expect(test.fetches).toHaveLength(1);
        break;
      case 'retry':
      case 'refresh-metadata':
        expect(reported).toEqual([]);
        expect(test.fetches).toHaveLength(2);
        break;
      default:
        expect(reported).toEqual([expect.stringMatching(/^error 0 /)]);
        expect(test.fetches).toHaveLength(2);
    }
  });

  it('delivers the fetched records before it resets an offset that is out of range', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'kept') });
    await test.runtime.settle();
    test.pendingFetch('fetch-long').answer({ partition: 0, code: 1 });
    await test.runtime.settle();
    expect(test.events).not.toContain('out of range 0');
    expect(await records(test)).toEqual(['kept']);
    await test.runtime.advance(250);
    test.pendingFetch('fetch-long').answer({ partition: 0, code: 1 });
    await test.runtime.settle();
    expect(test.events).toContain('out of range 0');
  });

  it('fetches from the new leader at the same offset after a leader change', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.leaders = [2, 2, 2, 2];
    test.pendingFetch('fetch-long').answer({ partition: 0, code: 6 });
    await test.runtime.advance(60);
    expect(test.pendingFetch('fetch-long')).toMatchObject({ node: 2, offsets: { 0: 0 } });
  });

  it('reports a missing topic, and fetches again once the topic exists', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.metadataCode = 3;
    test.pendingFetch('fetch-long').answer({ partition: 0, code: 3 });
    await test.runtime.settle();
    expect(test.events).toContain('error 0 UnknownTopicError');
    test.metadataCode = 0;
    await test.runtime.advance(60);
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'back') });
    await test.runtime.settle();
    expect(test.events.at(-1)).toBe('progress 0');
  });

  it('stops a partition whose topic was deleted and created again', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    const owned = test.ownedPartitions.get({ topic: 'orders', partition: 0 });
    owned?.setTopicId('aa');
    test.topicId = 'bb';
    test.pendingFetch('fetch-long').answer({ partition: 0, code: 100 });
    await test.runtime.advance(5_000);
    expect(test.events).toEqual(['stopped 0 TOPIC_RECREATED']);
    expect(test.fetches).toHaveLength(1);
  });
});

describe('Fetcher, with a partition that cannot be read', () => {
  const LEADER_MOVED = 6;
  const transient = [...brokerCodes.values()]
    .filter(({ code }) => ['retry', 'refresh-metadata'].includes(reactionTo('fetch', code)))
    .map(({ code, name }) => [name, code] as const);
  const errors = ({ events }: FetcherUnderTest) =>
    events.filter((event) => event.startsWith('error'));

  /** Answers every fetch with this response for the given time. */
  async function answering(
    test: FetcherUnderTest,
    milliseconds: number,
    ...partitions: Parameters<PendingFetch['answer']>
  ): Promise<void> {
    for (let passed = 0; passed < milliseconds; passed += 50) {
      test.fetches.at(-1)?.answer(...partitions);
      await test.runtime.advance(50);
    }
  }

  const reading = (test: FetcherUnderTest) => answering(test, 50, { partition: 0 });

  it.each(transient)('reports %s if the error persists', async (_name, code) => {
    const test = new FetcherUnderTest();
    await test.own(0);
    await answering(test, 2_000, { partition: 0, code });
    expect(errors(test)).toEqual([]);
    await answering(test, 500, { partition: 0, code });
    expect(errors(test)[0]).toMatch(/^error 0 /);
    await reading(test);
    expect(test.events.at(-1)).toBe('progress 0');
  });

  it('reports no error while a quota throttles the client and responses leave the partition out', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    await answering(test, 10_000);
    expect(errors(test)).toEqual([]);
  });

  it('reports a partition that has no leader for a long time', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.leaders = [-1];
    await answering(test, 50, { partition: 0, code: LEADER_MOVED });
    await test.runtime.advance(1_900);
    expect(errors(test)).toEqual([]);
    await test.runtime.advance(600);
    expect(errors(test)[0]).toBe('error 0 RefusedError');
    test.leaders = [2];
    await test.runtime.advance(300);
    await reading(test);
    expect([test.fetches.at(-1)?.node, test.events.at(-1)]).toEqual([2, 'progress 0']);
  });

  it('reports no error for a short leader change, however often it happens', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    for (let move = 0; move < 5; move++) {
      await answering(test, 1_500, { partition: 0, code: LEADER_MOVED });
      await reading(test);
    }
    expect(errors(test)).toEqual([]);
  });

  it('reports no error if one fetch failed before a pause and another one after it', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.pendingFetch('fetch-long').answer({ partition: 0, code: LEADER_MOVED });
    test.ownedPartitions.pause([{ topic: 'orders', partition: 0 }]);
    await test.runtime.advance(600_000);
    test.ownedPartitions.resume([{ topic: 'orders', partition: 0 }]);
    test.fetcher.wake();
    await test.runtime.settle();
    expect(test.fetches).toHaveLength(2);
    await answering(test, 50, { partition: 0, code: LEADER_MOVED });
    expect(test.fetches).toHaveLength(3);
    expect(errors(test)).toEqual([]);
  });
});

describe('Fetcher, with a broker that cannot be reached', () => {
  it('reports the error and retries with increasing backoff', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    for (let attempt = 1; attempt <= 5; attempt++) {
      test.pendingFetch('fetch-long').answered.reject(new ConnectionError('refused'));
      await test.runtime.settle();
      expect(test.fetches).toHaveLength(attempt);
      await test.runtime.advance(2_000);
      expect(test.fetches).toHaveLength(attempt + 1);
    }
    expect(test.events.filter((event) => event === 'error 0 ConnectionError')).toHaveLength(5);
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'back') });
    expect(await records(test)).toEqual(['back']);
    expect(test.events).toContain('progress 0');
  });
});
