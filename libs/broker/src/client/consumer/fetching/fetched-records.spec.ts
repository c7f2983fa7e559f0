import { Deferred } from '../../../runtime/index.js';
import { encodeControlBatch } from '../../../records/index.js';
import { FetcherUnderTest, batchAt } from './fetcher.spec-support.js';

/** Creates a fetcher with partition 0, a long poll under way, and a poll that waits for records. */
async function waiting(signal?: AbortSignal) {
  const test = new FetcherUnderTest();
  await test.own(0);
  const poll = test.records.poll(10, signal).then((records) => records.map(String));
  await test.runtime.settle();
  return { test, poll, fetch: test.pendingFetch('fetch-long') };
}

const values = async (test: FetcherUnderTest): Promise<string[]> =>
  (await test.records.poll(10)).map(({ value }) => String(value));

describe('FetchedRecords.poll', () => {
  it('returns the buffered records before the next fetch is sent', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    const asked = new Deferred<number>();
    void test.records.poll(10).then(() => asked.resolve(test.fetches.length));
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'a') });
    expect(await asked.promise).toBe(1);
    await test.runtime.settle();
    expect(test.fetches).toHaveLength(2);
  });

  it('returns no records if only control records were read, and the position has moved', async () => {
    const { test, poll, fetch } = await waiting();
    const marker = { producerId: 1n, producerEpoch: 0, timestamp: 1_000 };
    fetch.answer({ partition: 0, records: encodeControlBatch('abort', marker) });
    expect(await poll).toEqual([]);
    expect(test.ownedPartitions.get({ topic: 'orders', partition: 0 })?.position).toBe(1);
    let ended = false;
    void test.records.poll(10).finally(() => (ended = true));
    await test.runtime.settle();
    expect(ended).toBe(false);
  });

  it('takes no records if its signal aborts in the same turn in which they arrive', async () => {
    const control = new AbortController();
    const { test, poll, fetch } = await waiting(control.signal);
    test.fetcher.wake();
    fetch.answer({ partition: 0, records: batchAt(0, 'a', 'b') });
    test.records.notify();
    control.abort(new Error('enough'));
    await expect(poll).rejects.toThrow('enough');
    await test.runtime.settle();
    expect(await values(test)).toEqual(['a', 'b']);
  });

  it('returns its records even if the signal aborts after they were taken', async () => {
    const control = new AbortController();
    const { poll, test, fetch } = await waiting(control.signal);
    fetch.answer({ partition: 0, records: batchAt(0, 'a') });
    await test.runtime.settle();
    control.abort(new Error('enough'));
    expect(await poll).toHaveLength(1);
  });

  it('takes no records of a partition that is resumed and paused again in the same turn', async () => {
    const test = new FetcherUnderTest();
    await test.own(0);
    const orders = [{ topic: 'orders', partition: 0 }];
    test.pendingFetch('fetch-long').answer({ partition: 0, records: batchAt(0, 'a') });
    await test.runtime.settle();
    test.ownedPartitions.pause(orders);
    let ended = false;
    const poll = test.records.poll(10).finally(() => (ended = true));
    test.ownedPartitions.resume(orders);
    test.records.notify();
    test.ownedPartitions.pause(orders);
    await test.runtime.settle();
    expect(ended).toBe(false);
    test.ownedPartitions.resume(orders);
    test.records.notify();
    expect(await poll).toHaveLength(1);
  });

  it('rejects with the reason of the close, also when it is called later', async () => {
    const { test, poll } = await waiting();
    test.records.close(new Error('closed'));
    await expect(poll).rejects.toThrow('closed');
    await expect(test.records.poll(1)).rejects.toThrow('closed');
  });

  it('rejects a second call while the first one waits', async () => {
    const control = new AbortController();
    const { test, poll } = await waiting(control.signal);
    await expect(test.records.poll(1)).rejects.toThrow('One poll at a time');
    control.abort(new Error('enough'));
    await expect(poll).rejects.toThrow('enough');
    const next = test.records.poll(1);
    test.records.close(new Error('closed'));
    await expect(next).rejects.toThrow('closed');
  });
});
