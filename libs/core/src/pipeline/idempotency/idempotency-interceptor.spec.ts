import { Deferred } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import type { ResolvedIdempotency } from '../../config/resolving/resolved-binding.js';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { ClaimAnswer } from '../../model/extension-points/idempotency-store.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import { bindingOf, handler, processorOf, retryOf } from '../pipeline.spec-support.js';
import type { RecordCall } from '../record-call.js';
import { RecordClaims, type Claim } from './record-claims.js';
import { IdempotencyTest, already, at } from './idempotency.spec-support.js';

let test: IdempotencyTest;

beforeEach(() => {
  test = new IdempotencyTest();
});

describe('A record that is delivered twice', () => {
  it('is handled once: the second delivery is discarded, and its offset is committed', async () => {
    const processor = test.processor();
    expect(await processor.process(at(1))).toEqual({ kind: 'succeeded' });
    expect(await processor.process(at(1))).toEqual(already);
    expect(await processor.process(at(2))).toEqual({ kind: 'succeeded' });
    expect(test.handled).toEqual([1, 2]);
  });

  it('is handled once by all processes that share the store', async () => {
    await test.processor().process(at(1));
    expect(await test.processor().process(at(1))).toEqual(already);
    expect(test.handled).toEqual([1]);
  });

  it('is handled once by each group', async () => {
    const idempotency = { ...EVENTBUS_DEFAULTS.binding.idempotency, store: test.store };
    for (const groupId of ['one', 'two'])
      await processorOf([test.keep], { binding: bindingOf({ idempotency, groupId }) }).process(
        at(1),
      );
    expect(test.handled).toEqual([1, 1]);
  });

  it('is handled once if the second delivery comes from a retry topic', async () => {
    const processor = test.processor();
    await processor.process(at(1));
    const headers = {
      'x-eventbus-original-topic': 'orders.events',
      'x-eventbus-original-partition': '1',
      'x-eventbus-original-offset': '1',
      'x-eventbus-original-timestamp': '1600000000000',
    };
    const copy = at(77, { headers });
    const record = { ...copy.record, topic: 'orders.events.retry-1' };
    expect(await processor.process({ ...copy, record })).toEqual(already);
  });

  it('is handled by one delivery at a time: the other one waits and is not lost', async () => {
    const gate = new Deferred();
    test.handle = () => gate.promise;
    const first = test.processor().process(at(1));
    await test.runtime.settle();
    const other = test.processor();
    expect(await other.process(at(1))).toEqual({ kind: 'handed-back', delayMs: 1_000 });
    gate.resolve();
    expect(await first).toEqual({ kind: 'succeeded' });
    expect(await other.process(at(1))).toEqual(already);
    expect(test.handled).toEqual([1]);
  });

  it('is handled again after a crash, when the lease of the claim has ended', async () => {
    test.handle = () => new Promise(() => undefined);
    void test.processor({ leaseMs: 5_000 }).process(at(1));
    await test.runtime.settle();
    test.handle = () => undefined;
    const successor = test.processor({ leaseMs: 5_000 });
    await test.runtime.advance(4_999);
    expect(await successor.process(at(1))).toMatchObject({ kind: 'handed-back' });
    await test.runtime.advance(1);
    expect(await successor.process(at(1))).toEqual({ kind: 'succeeded' });
  });

  it('is claimed again after a lease that is shorter than a second', async () => {
    test.handle = () => new Promise(() => undefined);
    void test.processor({ leaseMs: 200 }).process(at(1));
    await test.runtime.settle();
    expect(await test.processor({ leaseMs: 200 }).process(at(1))).toEqual({
      kind: 'handed-back',
      delayMs: 200,
    });
  });

  it('is handled again after its mark has expired', async () => {
    const processor = test.processor({ ttlMs: 60_000 });
    await processor.process(at(1));
    await test.runtime.advance(60_000);
    expect(await processor.process(at(1))).toEqual({ kind: 'succeeded' });
  });
});

describe('A record whose handler has not succeeded', () => {
  it.each<[string, () => unknown, object]>([
    ['fails', () => Promise.reject(new Error('no')), { kind: 'failed', reason: 'retry-exhausted' }],
    [
      'is handed back',
      (context?: unknown) => (context as EventContext).handBack({ delayMs: 7 }),
      { kind: 'handed-back', delayMs: 7 },
    ],
    [
      'is dead-lettered by its handler',
      (context?: unknown) => (context as EventContext).deadLetter('no'),
      { kind: 'failed', reason: 'handler-gave-up' },
    ],
  ])('is released at once and not marked, because it %s', async (_what, act, outcome) => {
    test.handle = (_record, context) => (act as (context: EventContext) => unknown)(context);
    const processor = test.processor();
    expect(await processor.process(at(1))).toMatchObject(outcome);
    test.handle = () => undefined;
    expect(await processor.process(at(1))).toEqual({ kind: 'succeeded' });
    expect(test.handled).toEqual([1, 1]);
  });

  it('keeps one claim for all calls of its handler', async () => {
    let calls = 0;
    test.handle = () => {
      calls += 1;
      if (calls < 3) throw new Error('no');
    };
    const processor = test.processor({}, [test.keep], retryOf({ maxAttempts: 3 }));
    expect(await test.done(processor.process(at(1)))).toEqual({ kind: 'succeeded' });
    expect(test.handled).toHaveLength(3);
    expect(test.store.asked.map((asked) => asked.split(' ')[0])).toEqual(['claim', 'complete']);
  });

  it('is marked as processed if it was acknowledged: the next claim is refused', async () => {
    const idempotency = { ...EVENTBUS_DEFAULTS.binding.idempotency, store: test.store };
    const claims = new RecordClaims({
      binding: bindingOf({ idempotency }),
      store: test.store,
      runtime: test.runtime,
    });
    const call = {} as RecordCall;
    const claim = (await claims.claim('key', call)) as Claim;
    const acknowledged: Outcome = { kind: 'discarded', reason: 'acknowledged' };
    expect(await claims.settle(claim, acknowledged)).toBe(acknowledged);
    expect(await claims.claim('key', call)).toEqual(already);
  });

  it('is not passed to its handler if it is cancelled while the store is asked', async () => {
    const stop = new AbortController();
    const answer = new Deferred<ClaimAnswer>();
    test.store.failures.claim = () => answer.promise;
    const outcome = test.processor().process(at(1, {}, { waitSignal: stop.signal }));
    stop.abort();
    answer.resolve('new');
    expect(await outcome).toEqual({ kind: 'handed-back' });
    expect(test.handled).toEqual([]);
    expect(test.store.asked.at(-1)).toMatch(/^release/);
  });

  it('is claimed only after all preparation, shortly before its handler is called', async () => {
    const filter = jest.fn(() => {
      if (filter.mock.calls.length === 1) throw new Error('ECONNRESET');
      return true;
    });
    const filtering = handler(
      (record: EventRecord) => void test.handled.push(Number(record.offset)),
      {
        filter,
      },
    );
    const processor = test.processor({}, [filtering], retryOf({ maxAttempts: 2 }));
    const first = processor.process(at(1));
    await test.runtime.settle();
    expect(test.store.asked).toEqual([]);
    expect(await test.done(first)).toEqual({ kind: 'succeeded' });
    expect(await processor.process(at(1))).toEqual(already);
    expect(test.handled).toEqual([1]);
  });

  it('causes no call of the store if it was filtered or could not be decoded', async () => {
    const processor = test.processor({}, [handler(() => undefined, { filter: () => false })]);
    expect(await processor.process(at(1))).toEqual({ kind: 'discarded', reason: 'filtered' });
    await test.processor().process(at(2, { value: Buffer.from('{') }));
    expect(test.store.asked).toEqual([]);
  });
});

describe('A record without a key', () => {
  it('is a bad message, and no handler is called', async () => {
    const processor = test.processor({ key: { header: 'message-id' } });
    expect(await processor.process(at(1))).toMatchObject({
      kind: 'failed',
      reason: 'bad-message',
      attempts: 0,
      error: { code: 'IDEMPOTENCY_KEY' },
    });
    expect(test.handled).toEqual([]);
    expect(test.store.asked).toEqual([]);
  });

  it.each<[string, Partial<ResolvedIdempotency>]>([
    ['header', { key: { header: 'message-id' } }],
    ['function', { key: { of: ({ headers }) => headers.get('message-id') ?? '' } }],
  ])(
    'fails, while of two records with the same key only one is handled, by %s',
    async (_what, given) => {
      const processor = test.processor(given);
      const headers = { 'message-id': 'm-1' };
      await processor.process(at(1, { headers }));
      expect(await processor.process(at(2, { headers }))).toEqual(already);
      expect(test.handled).toEqual([1]);
    },
  );
});

describe('A handler that takes longer than its lease', () => {
  it('is logged, because another process may handle the record at the same time', async () => {
    const gate = new Deferred();
    test.handle = () => gate.promise;
    const outcome = test.processor({ leaseMs: 1_000 }).process(at(1));
    await test.runtime.advance(1_001);
    gate.resolve();
    await outcome;
    expect(test.logger.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: expect.stringContaining('longer than idempotency.leaseMs') as string,
        context: expect.objectContaining({ tookMs: 1_001, leaseMs: 1_000 }) as object,
      }),
    );
  });
});

describe('A binding without an idempotency store', () => {
  it('has no idempotency step, so that a synchronous record stays synchronous', () => {
    const outcome = test.processor({ store: 'none' }).process(at(1));
    expect(outcome).toEqual({ kind: 'succeeded' });
  });
});
