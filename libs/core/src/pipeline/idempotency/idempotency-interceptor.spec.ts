import { Deferred, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import type { ResolvedIdempotency } from '../../config/resolving/resolved-binding.js';
import { BatchProcessingException } from '../../errors/handler-errors.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { GivenDelivery } from '../../model/outcomes/outcomes.spec-support.js';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type {
  ClaimAnswer,
  IdempotencyStore,
} from '../../model/extension-points/idempotency-store.js';
import type { Outcome, RecordProcessor } from '../../model/outcomes/outcome.js';
import {
  batchHandler,
  bindingOf,
  deliveryOf,
  handler,
  processorOf,
  recordingLogger,
  retryOf,
  type DeliveredRecord,
} from '../pipeline.spec-support.js';
import type { HandlerStep } from '../dispatch/handler-step.js';
import type { ReadyRecord } from '../dispatch/preparation.js';
import { IdempotencyInterceptor } from './idempotency-interceptor.js';
import { memoryIdempotencyStore } from './memory-idempotency-store.js';
import { RecordClaims, type Claim } from './record-claims.js';

/** A store that can be down, hang and talk nonsense. */
class FlakyStore implements IdempotencyStore {
  readonly asked: string[] = [];
  trouble: Partial<Record<'claim' | 'complete' | 'release', () => unknown>> = {};
  readonly #store = memoryIdempotencyStore({ runtime });

  claim(key: string, owner: string, leaseMs: number): ClaimAnswer {
    return this.#answer('claim', key, () => this.#store.claim(key, owner, leaseMs)) as ClaimAnswer;
  }

  complete(key: string, ttlMs: number): unknown {
    return this.#answer('complete', key, () => this.#store.complete(key, ttlMs));
  }

  release(key: string, owner: string): unknown {
    return this.#answer('release', key, () => this.#store.release(key, owner));
  }

  #answer(what: 'claim' | 'complete' | 'release', key: string, answer: () => unknown): unknown {
    this.asked.push(`${what} ${key.split('/').at(-1)}`);
    return (this.trouble[what] ?? answer)();
  }
}

let runtime: VirtualRuntime;
let store: FlakyStore;
let logger: ReturnType<typeof recordingLogger>;
let handled: number[];
let handle: (record: EventRecord, context: EventContext) => unknown;

beforeEach(() => {
  runtime = new VirtualRuntime({ startAt: 1_700_000_000_000 });
  store = new FlakyStore();
  logger = recordingLogger();
  handled = [];
  handle = () => undefined;
});

const keep = handler((record: EventRecord, context) => {
  handled.push(Number(record.offset));
  return handle(record, context);
});

function withIdempotency(
  given: Partial<ResolvedIdempotency> = {},
  handlers = [keep],
  retry = retryOf({ maxAttempts: 1 }),
): RecordProcessor {
  const idempotency = { ...EVENTBUS_DEFAULTS.binding.idempotency, store, ...given };
  return processorOf(handlers, { binding: bindingOf({ idempotency, retry }), runtime, logger });
}

const at = (offset: number, more: DeliveredRecord = {}, rest: GivenDelivery = {}): Delivery =>
  deliveryOf({ offset, ...more }, rest);

async function done<T>(work: T | Promise<T>): Promise<T> {
  const result = Promise.resolve(work);
  for (let turn = 0; turn < 200; turn++) await runtime.advance(50);
  return result;
}

const down = () => {
  throw new Error('connection refused');
};
const already: Outcome = { kind: 'discarded', reason: 'already-processed' };

describe('A record that comes twice', () => {
  it('is handled once; the second is discarded, and the watermark may pass it', async () => {
    const processor = withIdempotency();
    expect(await processor.process(at(1))).toEqual({ kind: 'succeeded' });
    expect(await processor.process(at(1))).toEqual(already);
    expect(await processor.process(at(2))).toEqual({ kind: 'succeeded' });
    expect(handled).toEqual([1, 2]);
  });

  it('is handled once by all processes that share the store', async () => {
    await withIdempotency().process(at(1));
    expect(await withIdempotency().process(at(1))).toEqual(already);
    expect(handled).toEqual([1]);
  });

  it('is handled by each group', async () => {
    const idempotency = { ...EVENTBUS_DEFAULTS.binding.idempotency, store };
    for (const groupId of ['one', 'two'])
      await processorOf([keep], { binding: bindingOf({ idempotency, groupId }) }).process(at(1));
    expect(handled).toEqual([1, 1]);
  });

  it('once by way of a retry topic is the same record', async () => {
    const processor = withIdempotency();
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

  it('at the same time reaches the handler once; the other waits, and nothing of it is lost', async () => {
    const gate = new Deferred();
    handle = () => gate.promise;
    const first = withIdempotency().process(at(1));
    await runtime.settle();
    const other = withIdempotency();
    expect(await other.process(at(1))).toEqual({ kind: 'handed-back', delayMs: 1_000 });
    gate.resolve();
    expect(await first).toEqual({ kind: 'succeeded' });
    expect(await other.process(at(1))).toEqual(already);
    expect(handled).toEqual([1]);
  });

  it('after a crash in its handler is handled once its lease has ended', async () => {
    handle = () => new Promise(() => undefined);
    void withIdempotency({ leaseMs: 5_000 }).process(at(1));
    await runtime.settle();
    handle = () => undefined;
    const successor = withIdempotency({ leaseMs: 5_000 });
    await runtime.advance(4_999);
    expect(await successor.process(at(1))).toMatchObject({ kind: 'handed-back' });
    await runtime.advance(1);
    expect(await successor.process(at(1))).toEqual({ kind: 'succeeded' });
  });

  it('is asked for again after a lease that is shorter than a second', async () => {
    handle = () => new Promise(() => undefined);
    void withIdempotency({ leaseMs: 200 }).process(at(1));
    await runtime.settle();
    expect(await withIdempotency({ leaseMs: 200 }).process(at(1))).toEqual({
      kind: 'handed-back',
      delayMs: 200,
    });
  });

  it('is handled again once its mark is forgotten', async () => {
    const processor = withIdempotency({ ttlMs: 60_000 });
    await processor.process(at(1));
    await runtime.advance(60_000);
    expect(await processor.process(at(1))).toEqual({ kind: 'succeeded' });
  });
});

describe('A record whose handler has not succeeded', () => {
  it.each<[string, () => unknown, object]>([
    ['fails', () => Promise.reject(new Error('no')), { kind: 'failed', reason: 'retry-exhausted' }],
    [
      'is given back',
      (context?: unknown) => (context as EventContext).handBack({ delayMs: 7 }),
      { kind: 'handed-back', delayMs: 7 },
    ],
    [
      'is given up',
      (context?: unknown) => (context as EventContext).deadLetter('no'),
      { kind: 'failed', reason: 'handler-gave-up' },
    ],
  ])('because it %s is free at once, and not marked', async (_what, act, outcome) => {
    handle = (_record, context) => (act as (context: EventContext) => unknown)(context);
    const processor = withIdempotency();
    expect(await processor.process(at(1))).toMatchObject(outcome);
    handle = () => undefined;
    expect(await processor.process(at(1))).toEqual({ kind: 'succeeded' });
    expect(handled).toEqual([1, 1]);
  });

  it('has all its calls within one claim', async () => {
    let calls = 0;
    handle = () => {
      calls += 1;
      if (calls < 3) throw new Error('no');
    };
    const processor = withIdempotency({}, [keep], retryOf({ maxAttempts: 3 }));
    expect(await done(processor.process(at(1)))).toEqual({ kind: 'succeeded' });
    expect(handled).toHaveLength(3);
    expect(store.asked.map((asked) => asked.split(' ')[0])).toEqual(['claim', 'complete']);
  });

  it('and was acknowledged is done', async () => {
    const idempotency = { ...EVENTBUS_DEFAULTS.binding.idempotency, store };
    const claims = new RecordClaims({ binding: bindingOf({ idempotency }), store, runtime });
    const ready = {} as ReadyRecord;
    const claim = (await claims.claim('key', ready)) as Claim;
    const acknowledged: Outcome = { kind: 'discarded', reason: 'acknowledged' };
    expect(await claims.settle(claim, acknowledged)).toBe(acknowledged);
    expect(await claims.claim('key', ready)).toEqual(already);
  });

  it('is not begun where it is called off while the store is asked', async () => {
    const stop = new AbortController();
    const answer = new Deferred<ClaimAnswer>();
    store.trouble.claim = () => answer.promise;
    const outcome = withIdempotency().process(at(1, {}, { waitSignal: stop.signal }));
    stop.abort();
    answer.resolve('new');
    expect(await outcome).toEqual({ kind: 'handed-back' });
    expect(handled).toEqual([]);
    expect(store.asked.at(-1)).toMatch(/^release/);
  });

  it('is claimed once it can be handed to its handler, and no sooner', async () => {
    const filter = jest.fn(() => {
      if (filter.mock.calls.length === 1) throw new Error('ECONNRESET');
      return true;
    });
    const filtering = handler((record: EventRecord) => void handled.push(Number(record.offset)), {
      filter,
    });
    const processor = withIdempotency({}, [filtering], retryOf({ maxAttempts: 2 }));
    const first = processor.process(at(1));
    await runtime.settle();
    expect(store.asked).toEqual([]);
    expect(await done(first)).toEqual({ kind: 'succeeded' });
    expect(await processor.process(at(1))).toEqual(already);
    expect(handled).toEqual([1]);
  });

  it('because it was filtered, or could not be read, is none of the store', async () => {
    const processor = withIdempotency({}, [handler(() => undefined, { filter: () => false })]);
    expect(await processor.process(at(1))).toEqual({ kind: 'discarded', reason: 'filtered' });
    await withIdempotency().process(at(2, { value: Buffer.from('{') }));
    expect(store.asked).toEqual([]);
  });
});

describe('A record without a key', () => {
  it('is a bad message: no handler is called, no call could ever help', async () => {
    const processor = withIdempotency({ key: { header: 'message-id' } });
    expect(await processor.process(at(1))).toMatchObject({
      kind: 'failed',
      reason: 'bad-message',
      attempts: 0,
      error: { code: 'IDEMPOTENCY_KEY' },
    });
    expect(handled).toEqual([]);
    expect(store.asked).toEqual([]);
  });

  it.each<[string, Partial<ResolvedIdempotency>]>([
    ['header', { key: { header: 'message-id' } }],
    ['function', { key: { of: ({ headers }) => headers.get('message-id') ?? '' } }],
  ])('is another matter than two records with one, by %s', async (_what, given) => {
    const processor = withIdempotency(given);
    const headers = { 'message-id': 'm-1' };
    await processor.process(at(1, { headers }));
    expect(await processor.process(at(2, { headers }))).toEqual(already);
    expect(handled).toEqual([1]);
  });
});

describe('While the store is down', () => {
  const waiting = {
    kind: 'failed',
    attempts: 0,
    reason: 'redeliver',
    error: { code: 'IDEMPOTENCY_STORE', retriable: true },
  };

  it('a record is not handled, not skipped and not routed: it comes again', async () => {
    store.trouble.claim = down;
    const processor = withIdempotency();
    const outcome = await processor.process(at(1));
    expect(outcome).toMatchObject(waiting);
    expect(outcome).toMatchObject({
      error: {
        message:
          "The idempotency store of binding 'orders' could not claim a record (connection refused). Records wait until the store answers again, unless idempotency.onStoreFailure is 'process'.",
      },
    });
    expect(handled).toEqual([]);
    store.trouble = {};
    expect(await processor.process(at(1))).toEqual({ kind: 'succeeded' });
  });

  it.each<[string, () => unknown]>([
    ['rejects', () => Promise.reject(new Error('connection lost'))],
    ['throws what is no error', () => Promise.reject('gone')],
    ['answers nothing', () => undefined],
    ['answers what nobody knows', () => 'perhaps'],
  ])('a store that %s has said nothing', async (_what, trouble) => {
    store.trouble.claim = trouble;
    expect(await withIdempotency().process(at(1))).toMatchObject(waiting);
    expect(handled).toEqual([]);
  });

  it('a store that hangs is waited for no longer than timeoutMs, and what it grants too late is given back', async () => {
    const late = new Deferred<ClaimAnswer>();
    store.trouble.claim = () => late.promise;
    const outcome = withIdempotency({ timeoutMs: 3_000 }).process(at(1));
    const seen = { isSettled: false };
    void Promise.resolve(outcome).then(() => (seen.isSettled = true));
    await runtime.advance(2_999);
    expect(seen.isSettled).toBe(false);
    await runtime.advance(1);
    expect(await outcome).toMatchObject(waiting);
    late.resolve('new');
    await runtime.settle();
    expect(store.asked.map((asked) => asked.split(' ')[0])).toEqual(['claim', 'release']);
    expect(runtime.pendingTimers).toBe(0);
  });

  it('a record that is done is marked when it comes again, and not handled a second time', async () => {
    store.trouble.complete = down;
    const processor = withIdempotency();
    expect(await processor.process(at(1))).toMatchObject(waiting);
    expect(await processor.process(at(1))).toMatchObject(waiting);
    expect(logger.lines.map(({ level, message }) => `${level}: ${message}`)).toContain(
      'warn: The record is done and could not be marked: another process would handle it again',
    );
    store.trouble = {};
    expect(await processor.process(at(1))).toEqual({ kind: 'succeeded' });
    expect(await processor.process(at(1))).toEqual(already);
    expect(handled).toEqual([1]);
  });

  describe('a record that is done and could not be marked', () => {
    const standing = { headers: { 'message-id': 'standing-order-7' } };
    const byHeader = { key: { header: 'message-id' }, ttlMs: 60_000, leaseMs: 5_000 };

    it('is remembered no longer than its mark would be: a new one with its key is handled', async () => {
      store.trouble.complete = down;
      const processor = withIdempotency(byHeader);
      await processor.process(at(1, standing));
      store.trouble = {};
      await runtime.advance(60_000);
      expect(await processor.process(at(2, standing))).toEqual({ kind: 'succeeded' });
      expect(handled).toEqual([1, 2]);
    });

    it('is remembered as long as it comes again, however long the store is down', async () => {
      store.trouble.complete = down;
      const processor = withIdempotency(byHeader);
      for (let minutes = 0; minutes < 5; minutes++) {
        expect(await processor.process(at(1, standing))).toMatchObject(waiting);
        await runtime.advance(59_999);
      }
      store.trouble = {};
      expect(await processor.process(at(1, standing))).toEqual({ kind: 'succeeded' });
      expect(handled).toEqual([1]);
    });
  });

  it('a record that failed has failed; that it could not be released is told', async () => {
    handle = () => {
      throw new Error('no');
    };
    store.trouble.release = down;
    expect(await withIdempotency().process(at(1))).toMatchObject({ error: { message: 'no' } });
    expect(logger.lines.map(({ message }) => message)).toContain(
      'The record could not be released: it waits until its lease ends',
    );
  });

  it("records are handled all the same with onStoreFailure: 'process', which is told once", async () => {
    store.trouble = { claim: down, complete: down };
    const processor = withIdempotency({ onStoreFailure: 'process' });
    const told = () =>
      logger.lines.filter(({ message }) => message.includes('handled twice')).length;
    for (const offset of [1, 2, 2])
      expect(await processor.process(at(offset))).toEqual({ kind: 'succeeded' });
    expect(handled).toEqual([1, 2, 2]);
    expect(told()).toBe(1);
    store.trouble = {};
    await processor.process(at(3));
    store.trouble = { claim: down };
    await processor.process(at(4));
    expect(told()).toBe(2);
  });
});

describe('A handler that takes longer than its lease', () => {
  it('is told of, since others may have begun the record meanwhile', async () => {
    const gate = new Deferred();
    handle = () => gate.promise;
    const outcome = withIdempotency({ leaseMs: 1_000 }).process(at(1));
    await runtime.advance(1_001);
    gate.resolve();
    await outcome;
    expect(logger.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: expect.stringContaining('longer than idempotency.leaseMs') as string,
        context: expect.objectContaining({ tookMs: 1_001, leaseMs: 1_000 }) as object,
      }),
    );
  });
});

describe('A slice with records that were handled before', () => {
  let slices: number[][];
  let act: (offsets: readonly number[], contexts: readonly EventContext[]) => unknown;

  beforeEach(() => {
    slices = [];
    act = () => undefined;
  });

  const all = batchHandler((records: readonly EventRecord[], contexts) => {
    const offsets = records.map(({ offset }) => Number(offset));
    slices.push(offsets);
    return act(offsets, contexts);
  });

  const slice = async (
    offsets: readonly (number | Delivery)[],
    processor = withIdempotency({}, [all]),
  ): Promise<readonly string[]> => {
    const deliveries = offsets.map((each) => (typeof each === 'number' ? at(each) : each));
    return (await processor.processSlice!(deliveries)).map(({ kind }) => kind);
  };

  it('gives the handler the others, in their order', async () => {
    await slice([2, 4]);
    expect(await slice([1, 2, 3, 4, 5])).toEqual([
      'succeeded',
      'discarded',
      'succeeded',
      'discarded',
      'succeeded',
    ]);
    expect(slices).toEqual([
      [2, 4],
      [1, 3, 5],
    ]);
  });

  it('calls no handler where nothing is left', async () => {
    await slice([1, 2]);
    expect(await slice([1, 2])).toEqual(['discarded', 'discarded']);
    expect(slices).toHaveLength(1);
  });

  it('marks what was done before the record that failed, and frees that one and the rest', async () => {
    act = () => {
      throw new BatchProcessingException(2, 'the third');
    };
    expect(await slice([1, 2, 3, 4])).toEqual(['succeeded', 'succeeded', 'failed', 'handed-back']);
    act = () => undefined;
    expect(await slice([1, 2, 3, 4])).toEqual(['discarded', 'discarded', 'succeeded', 'succeeded']);
    expect(slices.at(-1)).toEqual([3, 4]);
  });

  it('ends before a record that somebody else works on; those behind it stay free', async () => {
    handle = () => new Promise(() => undefined);
    void withIdempotency().process(at(2));
    await runtime.settle();
    expect(await slice([1, 2, 3])).toEqual(['succeeded', 'handed-back', 'handed-back']);
    expect(slices).toEqual([[1]]);
    expect(await slice([3])).toEqual(['succeeded']);
  });

  it('ends before a record without a key', async () => {
    const processor = withIdempotency({ key: { header: 'id' } }, [all]);
    const [one, three] = [1, 3].map((offset) => at(offset, { headers: { id: `${offset}` } }));
    expect(await slice([one!, at(2), three!], processor)).toEqual([
      'succeeded',
      'failed',
      'handed-back',
    ]);
  });

  it('takes two records with one key for one', async () => {
    const processor = withIdempotency({ key: { header: 'id' } }, [all]);
    const [one, two, three] = ['a', 'a', 'b'].map((id, index) => at(index, { headers: { id } }));
    expect(await slice([one!, two!, three!], processor)).toEqual([
      'succeeded',
      'discarded',
      'succeeded',
    ]);
    expect(slices).toEqual([[0, 2]]);
  });

  it('does not take the second of two for done where the first is not', async () => {
    const processor = withIdempotency({ key: { header: 'id' } }, [all]);
    const [one, two] = ['a', 'a'].map((id, index) => at(index, { headers: { id } }));
    act = () => {
      throw new Error('no');
    };
    expect(await slice([one!, two!], processor)).toEqual(['failed', 'handed-back']);
  });

  it('hands the second of two back with the first, whoever looks at it afterwards', async () => {
    const idempotency = { ...EVENTBUS_DEFAULTS.binding.idempotency, store };
    const next: HandlerStep = {
      invoke: () => ({ kind: 'succeeded' }),
      invokeSlice: (ready) => ready.map(() => ({ kind: 'handed-back', delayMs: 5 })),
    };
    const interceptor = new IdempotencyInterceptor(
      { binding: bindingOf({ idempotency }), store, runtime },
      next,
    );
    const ready = { kind: 'ready', delivery: at(1) } as ReadyRecord;
    expect(await interceptor.invokeSlice([ready, ready], () => [])).toEqual([
      { kind: 'handed-back', delayMs: 5 },
      { kind: 'handed-back' },
    ]);
  });

  it('that is called off while the store is asked reaches no handler', async () => {
    const stop = new AbortController();
    const answer = new Deferred<ClaimAnswer>();
    store.trouble.claim = () => answer.promise;
    const outcomes = slice([at(1, {}, { waitSignal: stop.signal }), at(2)]);
    stop.abort();
    answer.resolve('new');
    expect(await outcomes).toEqual(['handed-back', 'handed-back']);
    expect(slices).toEqual([]);
    expect(store.asked.filter((asked) => asked.startsWith('release'))).toHaveLength(2);
  });

  it('waits with the records that could not be marked', async () => {
    store.trouble.complete = down;
    const processor = withIdempotency({}, [all]);
    expect(await slice([1, 2], processor)).toEqual(['failed', 'failed']);
    store.trouble = {};
    expect(await slice([1, 2], processor)).toEqual(['succeeded', 'succeeded']);
    expect(slices).toEqual([[1, 2]]);
  });
});

describe('Without a store', () => {
  it('nothing is there: what is not asynchronous stays so', () => {
    const outcome = withIdempotency({ store: 'none' }).process(at(1));
    expect(outcome).toEqual({ kind: 'succeeded' });
  });
});
