import { Deferred } from '@nest-event-bus/broker/runtime';
import type { ClaimAnswer } from '../../model/extension-points/idempotency-store.js';
import { IdempotencyTest, already, at, down } from './idempotency.spec-support.js';

let test: IdempotencyTest;

beforeEach(() => {
  test = new IdempotencyTest();
});

describe('An idempotency store that is down', () => {
  const waiting = {
    kind: 'failed',
    attempts: 0,
    reason: 'redeliver',
    error: { code: 'IDEMPOTENCY_STORE', retriable: true },
  };

  it('causes a redelivery: the record is not handled, skipped or routed', async () => {
    test.store.failures.claim = down;
    const processor = test.processor();
    const outcome = await processor.process(at(1));
    expect(outcome).toMatchObject(waiting);
    expect(outcome).toMatchObject({
      error: {
        message:
          "The idempotency store of binding 'orders' could not claim a record (Error ECONNREFUSED). Records wait until the store answers again, unless idempotency.onStoreFailure is 'process'.",
      },
    });
    expect(test.handled).toEqual([]);
    test.store.failures = {};
    expect(await processor.process(at(1))).toEqual({ kind: 'succeeded' });
  });

  it.each<[string, () => unknown]>([
    ['rejects', () => Promise.reject(new Error('connection lost'))],
    ['rejects with a value that is no Error', () => Promise.reject('gone')],
    ['answers undefined', () => undefined],
    ['gives an unknown answer', () => 'perhaps'],
  ])('causes a redelivery, and no handler call, if it %s', async (_what, failure) => {
    test.store.failures.claim = failure;
    expect(await test.processor().process(at(1))).toMatchObject(waiting);
    expect(test.handled).toEqual([]);
  });

  it('is called for at most timeoutMs, and a claim that it grants later is released', async () => {
    const late = new Deferred<ClaimAnswer>();
    test.store.failures.claim = () => late.promise;
    const outcome = test.processor({ timeoutMs: 3_000 }).process(at(1));
    const seen = { isSettled: false };
    void Promise.resolve(outcome).then(() => (seen.isSettled = true));
    await test.runtime.advance(2_999);
    expect(seen.isSettled).toBe(false);
    await test.runtime.advance(1);
    expect(await outcome).toMatchObject(waiting);
    late.resolve('new');
    await test.runtime.settle();
    expect(test.store.asked.map((asked) => asked.split(' ')[0])).toEqual(['claim', 'release']);
    expect(test.runtime.pendingTimers).toBe(0);
  });

  it('gets the mark of a handled record at its redelivery, without another handler call', async () => {
    test.store.failures.complete = down;
    const processor = test.processor();
    expect(await processor.process(at(1))).toMatchObject(waiting);
    expect(await processor.process(at(1))).toMatchObject(waiting);
    expect(test.logger.lines.map(({ level, message }) => `${level}: ${message}`)).toContain(
      'warn: The record is done and could not be marked: another process would handle it again',
    );
    test.store.failures = {};
    expect(await processor.process(at(1))).toEqual({ kind: 'succeeded' });
    expect(await processor.process(at(1))).toEqual(already);
    expect(test.handled).toEqual([1]);
  });

  describe('while a handled record could not be marked', () => {
    const sameKey = { headers: { 'message-id': 'standing-order-7' } };
    const byHeader = { key: { header: 'message-id' }, ttlMs: 60_000, leaseMs: 5_000 };

    it('remembers the record no longer than its mark would last: a new record with its key is handled', async () => {
      test.store.failures.complete = down;
      const processor = test.processor(byHeader);
      await processor.process(at(1, sameKey));
      test.store.failures = {};
      await test.runtime.advance(60_000);
      expect(await processor.process(at(2, sameKey))).toEqual({ kind: 'succeeded' });
      expect(test.handled).toEqual([1, 2]);
    });

    it('remembers the record until it is marked, however long the store is down', async () => {
      test.store.failures.complete = down;
      const processor = test.processor(byHeader);
      for (let minutes = 0; minutes < 5; minutes++) {
        expect(await processor.process(at(1, sameKey))).toMatchObject(waiting);
        await test.runtime.advance(59_999);
      }
      test.store.failures = {};
      expect(await processor.process(at(1, sameKey))).toEqual({ kind: 'succeeded' });
      expect(test.handled).toEqual([1]);
    });
  });

  it('does not change how a record failed, and a release that fails is logged', async () => {
    test.handle = () => {
      throw new Error('no');
    };
    test.store.failures.release = down;
    expect(await test.processor().process(at(1))).toMatchObject({ error: { message: 'no' } });
    expect(test.logger.lines.map(({ message }) => message)).toContain(
      'The record could not be released: it waits until its lease ends',
    );
  });

  it("does not delay records with onStoreFailure: 'process', which is logged once", async () => {
    test.store.failures = { claim: down, complete: down };
    const processor = test.processor({ onStoreFailure: 'process' });
    const countWarnings = () =>
      test.logger.lines.filter(({ message }) => message.includes('handled twice')).length;
    for (const offset of [1, 2, 2])
      expect(await processor.process(at(offset))).toEqual({ kind: 'succeeded' });
    expect(test.handled).toEqual([1, 2, 2]);
    expect(countWarnings()).toBe(1);
    test.store.failures = {};
    await processor.process(at(3));
    test.store.failures = { claim: down };
    await processor.process(at(4));
    expect(countWarnings()).toBe(2);
  });
});
