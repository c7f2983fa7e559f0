import { ClosedError, ConnectionError } from '../../../port/errors.js';
import { brokerCodes, reactionTo } from '../../../wire/index.js';
import { FetcherUnderTest, batchAt, type PendingFetch } from './fetcher.spec-support.js';

const records = async (test: FetcherUnderTest, max = 10): Promise<string[]> =>
  (await test.records.poll(max)).map(({ value }) => String(value));

describe('a partition whose topic was not known when it came', () => {
  it('belongs to the first one that is', async () => {
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

describe('a partition that is sought while its topic is not known', () => {
  it('is not read on in the middle of another topic of the same name', async () => {
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

describe('asking a broker', () => {
  it('holds one long poll for all partitions that are wanted', async () => {
    const test = new FetcherUnderTest();
    await test.own(0, 1);
    expect(test.fetches).toHaveLength(1);
    expect(test.fetches[0]).toMatchObject({ node: 1, maxWaitMs: 5_000, offsets: { 0: 0, 1: 0 } });
  });

  it('asks for what comes next while the records are still being handled', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'a', 'b') });
    await test.runtime.settle();
    expect(test.fetches).toHaveLength(2);
    expect(test.pendingFetch('fetch-long').offsets).toEqual({ 0: 2 });
    expect(await records(test)).toEqual(['a', 'b']);
  });

  it('has no more than two answers waiting for a partition', async () => {
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

  it('asks each leader for its own partitions', async () => {
    const test = new FetcherUnderTest();
    test.leaders = [1, 2, 1, 2];
    await test.own(0, 1, 2);
    expect(test.fetches.map(({ node, offsets }) => [node, Object.keys(offsets)])).toEqual([
      [1, ['0', '2']],
      [2, ['1']],
    ]);
  });

  it('starts each request with another partition, since the first is served best', async () => {
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

describe('a partition that becomes wanted while the long poll is out', () => {
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

  it('is asked for at once, without waiting, on another connection', async () => {
    const test = await withLongPollFor1();
    expect(test.pendingFetch('control')).toMatchObject({ maxWaitMs: 0, offsets: { 0: 0 } });
  });

  it('waits in a second long poll when there is nothing yet', async () => {
    const test = await withLongPollFor1();
    test.pendingFetch('control').answerEmpty();
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-side')).toMatchObject({ maxWaitMs: 5_000, offsets: { 0: 0 } });
    test.pendingFetch('fetch-side').answer({ partition: 0, records: batchAt(0, 'late') });
    expect(await records(test)).toEqual(['late']);
  });

  it('is asked for again soon when both long polls are out', async () => {
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

describe('an answer', () => {
  it('to an older question is dropped: a seek during the fetch wins', async () => {
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

  it('for a partition that was not asked for is ignored', async () => {
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

  it('that holds a paused partition keeps its records back until the resume', async () => {
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

  it('whose bytes lead nowhere is not asked for again in a hot loop', async () => {
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

  it('that the answer leaves out is not asked for again in a hot loop', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.pendingFetch('fetch-long').answer();
    await test.runtime.settle();
    expect(test.fetches).toHaveLength(1);
    await test.runtime.advance(60);
    expect(test.fetches).toHaveLength(2);
  });
});

describe('the reaction to each error code of a fetch', () => {
  const codes = [...brokerCodes.values()].map(({ code, name }) => [name, code] as const);

  it.each(codes)('%s', async (_name, code) => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.pendingFetch('fetch-long').answer({ partition: 0, code });
    await test.runtime.settle();
    const told = test.events.filter((event) => !event.startsWith('progress'));
    await test.runtime.advance(49);
    expect(test.fetches).toHaveLength(1);
    await test.runtime.advance(2_100);
    switch (reactionTo('fetch', code)) {
      case 'out-of-range':
        expect(told).toEqual(['out of range 0']);
        expect(test.fetches).toHaveLength(1);
        break;
      case 'retry':
      case 'refresh-metadata':
        expect(told).toEqual([]);
        expect(test.fetches).toHaveLength(2);
        break;
      default:
        expect(told).toEqual([expect.stringMatching(/^trouble 0 /)]);
        expect(test.fetches).toHaveLength(2);
    }
  });

  it('hands out what was fetched ahead before an offset out of range is reset', async () => {
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

  it('follows the partition to its new leader, at the same offset', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.leaders = [2, 2, 2, 2];
    test.pendingFetch('fetch-long').answer({ partition: 0, code: 6 });
    await test.runtime.advance(60);
    expect(test.pendingFetch('fetch-long')).toMatchObject({ node: 2, offsets: { 0: 0 } });
  });

  it('says when the topic is gone, and goes on once it is back', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.metadataCode = 3;
    test.pendingFetch('fetch-long').answer({ partition: 0, code: 3 });
    await test.runtime.settle();
    expect(test.events).toContain('trouble 0 UnknownTopicError');
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

describe('a partition that cannot be read', () => {
  const LEADER_MOVED = 6;
  const mending = [...brokerCodes.values()]
    .filter(({ code }) => ['retry', 'refresh-metadata'].includes(reactionTo('fetch', code)))
    .map(({ code, name }) => [name, code] as const);
  const troubles = ({ events }: FetcherUnderTest) =>
    events.filter((event) => event.startsWith('trouble'));

  /** Every question gets this answer. */
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

  it.each(mending)('is told of when %s goes on', async (_name, code) => {
    const test = new FetcherUnderTest();
    await test.own(0);
    await answering(test, 2_000, { partition: 0, code });
    expect(troubles(test)).toEqual([]);
    await answering(test, 500, { partition: 0, code });
    expect(troubles(test)[0]).toMatch(/^trouble 0 /);
    await reading(test);
    expect(test.events.at(-1)).toBe('progress 0');
  });

  it('for our quota is used up is not told of: the answers leave it out meanwhile', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    await answering(test, 10_000);
    expect(troubles(test)).toEqual([]);
  });

  it('is told of when nobody leads it', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    test.leaders = [-1];
    await answering(test, 50, { partition: 0, code: LEADER_MOVED });
    await test.runtime.advance(1_900);
    expect(troubles(test)).toEqual([]);
    await test.runtime.advance(600);
    expect(troubles(test)[0]).toBe('trouble 0 RefusedError');
    test.leaders = [2];
    await test.runtime.advance(300);
    await reading(test);
    expect([test.fetches.at(-1)?.node, test.events.at(-1)]).toEqual([2, 'progress 0']);
  });

  it('for the while in which its leader moves is not, however often that happens', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    for (let move = 0; move < 5; move++) {
      await answering(test, 1_500, { partition: 0, code: LEADER_MOVED });
      await reading(test);
    }
    expect(troubles(test)).toEqual([]);
  });

  it('before and after a pause is not: nobody asked in between', async () => {
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
    expect(troubles(test)).toEqual([]);
  });
});

describe('a broker that cannot be reached', () => {
  it('is reported and asked again, later each time', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    for (let attempt = 1; attempt <= 5; attempt++) {
      test.pendingFetch('fetch-long').answered.reject(new ConnectionError('refused'));
      await test.runtime.settle();
      expect(test.fetches).toHaveLength(attempt);
      await test.runtime.advance(2_000);
      expect(test.fetches).toHaveLength(attempt + 1);
    }
    expect(test.events.filter((event) => event === 'trouble 0 ConnectionError')).toHaveLength(5);
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'back') });
    expect(await records(test)).toEqual(['back']);
    expect(test.events).toContain('progress 0');
  });
});

describe('memory', () => {
  it('is given back when the records of an answer are handed out', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    const bytes = batchAt(0, 'a', 'b');
    const asked = test.budget.usedBytes;
    test.pendingFetch('fetch-long').answer({ partition: 0, records: bytes });
    await test.runtime.settle();
    expect(test.budget.usedBytes).toBe(asked + bytes.length);
    await records(test, 1);
    expect(test.budget.usedBytes).toBe(asked + bytes.length);
    await records(test, 1);
    expect(test.budget.usedBytes).toBe(asked);
  });

  it('that paused partitions hold gives way to the others', async () => {
    const test = new FetcherUnderTest({ budgetBytes: 256 * 1024 });
    await test.own(0, 1);
    test.ownedPartitions.pause([{ topic: 'orders', partition: 0 }]);
    const large = 'x'.repeat(230 * 1024);
    test
      .pendingFetch('fetch-long')
      .answer({ partition: 0, records: batchAt(0, large) }, { partition: 1 });
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-long').offsets).toEqual({ 1: 0 });
    test.ownedPartitions.resume([{ topic: 'orders', partition: 0 }]);
    test.pendingFetch('fetch-long').answerEmpty();
    await test.runtime.settle();
    expect(test.pendingFetch('fetch-long').offsets).toMatchObject({ 0: 0 });
  });

  it('suffices for a long poll of every broker, however many sessions share it', async () => {
    const test = new FetcherUnderTest({ budgetBytes: 256 * 1024 });
    test.leaders = test.nodes = [1, 2, 3, 4, 5, 6];
    await test.own(0, 1, 2, 3, 4, 5);
    expect(test.fetches.map(({ node }) => node)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('is given to each broker in turn where it does not suffice for all', async () => {
    const test = new FetcherUnderTest({ budgetBytes: 256 * 1024 });
    const nodes = Array.from({ length: 40 }, (_, node) => node);
    test.leaders = test.nodes = nodes;
    await test.own(...nodes);
    expect(test.fetches.length).toBeLessThan(nodes.length);
    for (let answered = 0; answered < nodes.length; answered++) {
      test.fetches[answered]?.answerEmpty();
      await test.runtime.settle();
    }
    const asked = test.fetches.slice(0, nodes.length).map(({ node }) => node);
    expect(asked.toSorted((left, right) => left - right)).toEqual(nodes);
  });

  it('is given first to the broker that was refused first, whatever it was busy with meanwhile', async () => {
    const test = new FetcherUnderTest({ budgetBytes: 256 * 1024 });
    test.leaders = [1, 1, 1, 1, 2, 2, 3];
    const asked = () => test.fetches.map(({ node, order }) => `${node}: ${order.join(' ')}`);
    await test.own(0, 4, 6);
    await test.runtime.advance(10);
    await test.own(2);
    await test.own(3);
    test.pendingFetch('control').answerEmpty();
    await test.runtime.settle();
    // No room: broker 1 for a second long poll about 2, broker 2 for a quick question about 5.
    await test.own(5);
    // Broker 1 is being asked about 3, so this one has to wait.
    await test.own(1);
    expect(asked()).toEqual(['1: 0', '2: 4', '3: 6', '1: 2', '1: 3']);
    // What it brings takes the room of the question, so that nobody is asked yet.
    const large = 'x'.repeat(60 * 1024);
    test.pendingFetch('control').answer({ partition: 3, records: batchAt(0, large) });
    await test.runtime.settle();
    expect(asked()).toHaveLength(5);
    // Once it was asked, it is the turn of the others.
    for (const answered of [2, 5, 6]) {
      test.fetches[answered]?.answerEmpty();
      await test.runtime.settle();
    }
    expect(test.fetches.slice(5).map(({ node }) => node)).toEqual([1, 2, 3]);
  });

  it('is not kept by a long poll that finds nothing while another broker waits for it', async () => {
    const test = new FetcherUnderTest({ budgetBytes: 256 * 1024 });
    test.leaders = test.nodes = Array.from({ length: 40 }, (_, node) => node);
    await test.own(...test.nodes);
    test.fetches[0]?.answerEmpty();
    await test.runtime.settle();
    expect(test.fetches.at(-1)?.maxWaitMs).toBe(500);
  });

  it('is shared evenly by the sessions of a process', () => {
    const test = new FetcherUnderTest({ budgetBytes: 64 * 1024 * 1024 });
    const shares = Array.from({ length: 7 }, () => test.budget.join());
    expect(shares[0]?.limitBytes).toBe(8 * 1024 * 1024);
    for (const share of shares) share.close();
    expect(test.budget.join().limitBytes).toBe(32 * 1024 * 1024);
  });
});

it('asks nothing more once closed, and closes its connections', async () => {
  const test = new FetcherUnderTest();
  await test.own(0);
  test.fetcher.close(new ClosedError('closed'));
  await test.runtime.advance(60_000);
  expect(test.fetches).toHaveLength(1);
  expect(test.events).toEqual(['closed fetch-long:s', 'closed fetch-side:s']);
  expect(test.runtime.pendingTimers).toBe(0);
});
