import { FetcherUnderTest, batchAt, records } from './fetcher.spec-support.js';

describe('Fetcher, with limited memory', () => {
  it('releases the memory of a response when its records are delivered', async () => {
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

  it('drops buffered records of paused partitions to make room for other partitions', async () => {
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

  it('keeps one long poll per broker open, however many sessions share the memory', async () => {
    const test = new FetcherUnderTest({ budgetBytes: 256 * 1024 });
    test.leaders = test.nodes = [1, 2, 3, 4, 5, 6];
    await test.own(0, 1, 2, 3, 4, 5);
    expect(test.fetches.map(({ node }) => node)).toEqual([1, 2, 3, 4, 5, 6]);
  });

  it('fetches from the brokers in turn if the memory does not suffice for all of them', async () => {
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

  it('fetches first from the broker that has waited longest for memory, even if a fetch to it was under way in between', async () => {
    const test = new FetcherUnderTest({ budgetBytes: 256 * 1024 });
    test.leaders = [1, 1, 1, 1, 2, 2, 3];
    const asked = () => test.fetches.map(({ node, order }) => `${node}: ${order.join(' ')}`);
    await test.own(0, 4, 6);
    await test.runtime.advance(10);
    await test.own(2);
    await test.own(3);
    test.pendingFetch('control').answerEmpty();
    await test.runtime.settle();
    // The memory does not suffice for both: broker 1 needs it for a second long poll of partition
    // 2, broker 2 for a quick fetch of partition 5.
    await test.own(5);
    // A fetch of partition 3 from broker 1 is under way, so partition 2 has to wait.
    await test.own(1);
    expect(asked()).toEqual(['1: 0', '2: 4', '3: 6', '1: 2', '1: 3']);
    // The response uses the memory that its request has reserved, so no further fetch is sent yet.
    const large = 'x'.repeat(60 * 1024);
    test.pendingFetch('control').answer({ partition: 3, records: batchAt(0, large) });
    await test.runtime.settle();
    expect(asked()).toHaveLength(5);
    // Broker 1 has waited longest for memory and is asked first. The other brokers follow.
    for (const answered of [2, 5, 6]) {
      test.fetches[answered]?.answerEmpty();
      await test.runtime.settle();
    }
    expect(test.fetches.slice(5).map(({ node }) => node)).toEqual([1, 2, 3]);
  });

  it('shortens long polls that return no records while another broker waits for memory', async () => {
    const test = new FetcherUnderTest({ budgetBytes: 256 * 1024 });
    test.leaders = test.nodes = Array.from({ length: 40 }, (_, node) => node);
    await test.own(...test.nodes);
    test.fetches[0]?.answerEmpty();
    await test.runtime.settle();
    expect(test.fetches.at(-1)?.maxWaitMs).toBe(500);
  });

  it('shares the memory evenly among the sessions of a process', () => {
    const test = new FetcherUnderTest({ budgetBytes: 64 * 1024 * 1024 });
    const shares = Array.from({ length: 7 }, () => test.budget.join());
    expect(shares[0]?.limitBytes).toBe(8 * 1024 * 1024);
    for (const share of shares) share.close();
    expect(test.budget.join().limitBytes).toBe(32 * 1024 * 1024);
  });
});
