import { Deferred } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import { BatchProcessingException } from '../../errors/handler-errors.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { settledOutcomes } from '../../model/outcomes/outcome.js';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { ClaimAnswer } from '../../model/extension-points/idempotency-store.js';
import { batchHandler, bindingOf } from '../pipeline.spec-support.js';
import type { PipelineStep } from '../pipeline-step.js';
import { RecordCall } from '../record-call.js';
import { IdempotencyInterceptor } from './idempotency-interceptor.js';
import { IdempotencyTest, at, down } from './idempotency.spec-support.js';

let test: IdempotencyTest;

beforeEach(() => {
  test = new IdempotencyTest();
});

describe('A slice with records that are marked already', () => {
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
    processor = test.processor({}, [all]),
  ): Promise<readonly string[]> => {
    const deliveries = offsets.map((each) => (typeof each === 'number' ? at(each) : each));
    const outcomes = await settledOutcomes(await processor.processSlice!(deliveries));
    return outcomes.map(({ kind }) => kind);
  };

  it('is passed to the handler without these records, in order', async () => {
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

  it('causes no handler call if all its records are marked', async () => {
    await slice([1, 2]);
    expect(await slice([1, 2])).toEqual(['discarded', 'discarded']);
    expect(slices).toHaveLength(1);
  });

  it('has the records before a failed one marked, and the others released', async () => {
    act = () => {
      throw new BatchProcessingException(2, 'the third');
    };
    expect(await slice([1, 2, 3, 4])).toEqual(['succeeded', 'succeeded', 'failed', 'handed-back']);
    act = () => undefined;
    expect(await slice([1, 2, 3, 4])).toEqual(['discarded', 'discarded', 'succeeded', 'succeeded']);
    expect(slices.at(-1)).toEqual([3, 4]);
  });

  it('ends before a record that another process handles; the records after it are not claimed', async () => {
    test.handle = () => new Promise(() => undefined);
    void test.processor().process(at(2));
    await test.runtime.settle();
    expect(await slice([1, 2, 3])).toEqual(['succeeded', 'handed-back', 'handed-back']);
    expect(slices).toEqual([[1]]);
    expect(await slice([3])).toEqual(['succeeded']);
  });

  it('ends before a record without a key, which fails', async () => {
    const processor = test.processor({ key: { header: 'id' } }, [all]);
    const [one, three] = [1, 3].map((offset) => at(offset, { headers: { id: `${offset}` } }));
    expect(await slice([one!, at(2), three!], processor)).toEqual([
      'succeeded',
      'failed',
      'handed-back',
    ]);
  });

  it('is handled once per key if two of its records have the same key', async () => {
    const processor = test.processor({ key: { header: 'id' } }, [all]);
    const [one, two, three] = ['a', 'a', 'b'].map((id, index) => at(index, { headers: { id } }));
    expect(await slice([one!, two!, three!], processor)).toEqual([
      'succeeded',
      'discarded',
      'succeeded',
    ]);
    expect(slices).toEqual([[0, 2]]);
  });

  it('does not mark the second record with a key if the first one fails', async () => {
    const processor = test.processor({ key: { header: 'id' } }, [all]);
    const [one, two] = ['a', 'a'].map((id, index) => at(index, { headers: { id } }));
    act = () => {
      throw new Error('no');
    };
    expect(await slice([one!, two!], processor)).toEqual(['failed', 'handed-back']);
  });

  it('hands back the second record with a key if the first one is handed back', async () => {
    const idempotency = { ...EVENTBUS_DEFAULTS.binding.idempotency, store: test.store };
    const next: PipelineStep = {
      process: () => ({ kind: 'succeeded' }),
      processSlice: (slice) => slice.map(() => ({ kind: 'handed-back', delayMs: 5 })),
    };
    const binding = bindingOf({ idempotency });
    const interceptor = new IdempotencyInterceptor(next, {
      binding,
      store: test.store,
      runtime: test.runtime,
    });
    const call = new RecordCall(at(1));
    expect(await interceptor.processSlice([call, call])).toEqual([
      { kind: 'handed-back', delayMs: 5 },
      { kind: 'handed-back' },
    ]);
  });

  it('reaches no handler if its delivery is cancelled while the store is asked', async () => {
    const stop = new AbortController();
    const answer = new Deferred<ClaimAnswer>();
    test.store.failures.claim = () => answer.promise;
    const outcomes = slice([at(1, {}, { waitSignal: stop.signal }), at(2)]);
    stop.abort();
    answer.resolve('new');
    expect(await outcomes).toEqual(['handed-back', 'handed-back']);
    expect(slices).toEqual([]);
    expect(test.store.asked.filter((asked) => asked.startsWith('release'))).toHaveLength(2);
  });

  it('fails the records that could not be marked, and does not handle them again', async () => {
    test.store.failures.complete = down;
    const processor = test.processor({}, [all]);
    expect(await slice([1, 2], processor)).toEqual(['failed', 'failed']);
    test.store.failures = {};
    expect(await slice([1, 2], processor)).toEqual(['succeeded', 'succeeded']);
    expect(slices).toEqual([[1, 2]]);
  });
});
