import { Deferred } from '../../../runtime/index.js';
import { PumpUnderTest, batchAt } from './fetch-pump.spec-support.js';

/** A pump with partition 0, its long poll under way, and a poll that waits. */
async function waiting(signal?: AbortSignal) {
  const test = new PumpUnderTest();
  await test.own(0);
  const poll = test.intake.poll(10, signal).then((records) => records.map(String));
  await test.runtime.settle();
  return { test, poll, fetch: test.underWay('fetch-long') };
}

const values = async (test: PumpUnderTest): Promise<string[]> =>
  (await test.intake.poll(10)).map(({ value }) => String(value));

describe('a poll that waits', () => {
  it('gets its records before the broker is asked for more', async () => {
    const test = new PumpUnderTest();
    await test.own(0);
    const asked = new Deferred<number>();
    void test.intake.poll(10).then(() => asked.resolve(test.fetches.length));
    test.underWay('fetch-long').answer({ partition: 0, records: batchAt(0, 'a') });
    expect(await asked.promise).toBe(1);
    await test.runtime.settle();
    expect(test.fetches).toHaveLength(2);
  });

  it('that is given up in the turn in which records come takes none of them', async () => {
    const control = new AbortController();
    const { test, poll, fetch } = await waiting(control.signal);
    test.pump.wake();
    fetch.answer({ partition: 0, records: batchAt(0, 'a', 'b') });
    test.intake.notify();
    control.abort(new Error('enough'));
    await expect(poll).rejects.toThrow('enough');
    await test.runtime.settle();
    expect(await values(test)).toEqual(['a', 'b']);
  });

  it('keeps what it got, whatever the signal says later', async () => {
    const control = new AbortController();
    const { poll, test, fetch } = await waiting(control.signal);
    fetch.answer({ partition: 0, records: batchAt(0, 'a') });
    await test.runtime.settle();
    control.abort(new Error('enough'));
    expect(await poll).toHaveLength(1);
  });

  it('gets nothing of a partition that was resumed and paused again in one turn', async () => {
    const test = new PumpUnderTest();
    await test.own(0);
    const orders = [{ topic: 'orders', partition: 0 }];
    test.underWay('fetch-long').answer({ partition: 0, records: batchAt(0, 'a') });
    await test.runtime.settle();
    test.ownership.pause(orders);
    let ended = false;
    const poll = test.intake.poll(10).finally(() => (ended = true));
    test.ownership.resume(orders);
    test.intake.notify();
    test.ownership.pause(orders);
    await test.runtime.settle();
    expect(ended).toBe(false);
    test.ownership.resume(orders);
    test.intake.notify();
    expect(await poll).toHaveLength(1);
  });

  it('ends with the reason that ends the session, and so does every later one', async () => {
    const { test, poll } = await waiting();
    test.intake.end(new Error('closed'));
    await expect(poll).rejects.toThrow('closed');
    await expect(test.intake.poll(1)).rejects.toThrow('closed');
  });

  it('is the only one: a second is refused, until the first has ended', async () => {
    const control = new AbortController();
    const { test, poll } = await waiting(control.signal);
    await expect(test.intake.poll(1)).rejects.toThrow('One poll at a time');
    control.abort(new Error('enough'));
    await expect(poll).rejects.toThrow('enough');
    const next = test.intake.poll(1);
    test.intake.end(new Error('closed'));
    await expect(next).rejects.toThrow('closed');
  });
});
