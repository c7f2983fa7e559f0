import { z } from 'zod';
import { ConsumerResult } from '../../model/outcomes/consumer-result.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import type { SliceHandler } from '../../model/extension-points/record-handler.js';
import { BatchProcessingException } from '../../errors/handler-errors.js';
import {
  batchHandler,
  deliveryOf,
  processorOf,
  wholeSliceOf,
  type DeliveredRecord,
} from '../pipeline.spec-support.js';

const succeeded = { kind: 'succeeded' };
const handedBack = { kind: 'handed-back' };
const failedWith = (error: unknown) => ({
  kind: 'failed',
  error,
  attempts: 1,
  reason: 'retry-exhausted',
});

let calls: unknown[][];

beforeEach(() => {
  calls = [];
});

const keep: SliceHandler<never> = (records: readonly EventRecord[]) =>
  void calls.push(records.map(({ value }) => value));

async function outcomesOf(
  handlers: Parameters<typeof processorOf>[0],
  slice: readonly DeliveredRecord[],
): Promise<readonly Outcome[]> {
  return wholeSliceOf(
    processorOf(handlers),
    slice.map((given) => deliveryOf(given)),
  );
}

const three = [{ value: 1 }, { value: 2 }, { value: 3 }];

describe('A batch handler', () => {
  it('is called once with all records, without a promise if no step is asynchronous', () => {
    const outcomes = processorOf([batchHandler(keep)]).processSlice!(
      three.map((each) => deliveryOf(each)),
    );
    expect(outcomes).toEqual([succeeded, succeeded, succeeded]);
    expect(calls).toEqual([[1, 2, 3]]);
  });

  it('gets a context for each record', async () => {
    const keys: string[] = [];
    const handler = batchHandler((_records, contexts) => {
      keys.push(...contexts.map(({ dedupKey }) => dedupKey));
    });
    await outcomesOf([handler], [{ offset: 1 }, { offset: 2 }]);
    expect(keys).toEqual(['orders.events-1-1', 'orders.events-1-2']);
  });

  it('gets a single record as a slice of one', async () => {
    const processor = processorOf([batchHandler(keep)]);
    expect(processor.process(deliveryOf({ value: 1 }))).toEqual(succeeded);
    const later = processorOf([batchHandler(async () => undefined)]);
    expect(await later.process(deliveryOf())).toEqual(succeeded);
    expect(calls).toEqual([[1]]);
  });
});

describe('A batch handler that fails', () => {
  const stopped = new BatchProcessingException(1, 'second');

  it.each([
    [
      'at once',
      () => {
        throw stopped;
      },
    ],
    ['later', () => Promise.reject(stopped)],
  ])(
    'completes the records before the named one, and hands back those after it, if it %s',
    async (_when, handle) => {
      expect(await outcomesOf([batchHandler(handle)], three)).toEqual([
        succeeded,
        failedWith(stopped),
        handedBack,
      ]);
    },
  );

  it.each([
    ['says nothing', new Error('boom')],
    ['names a record that is not there', new BatchProcessingException(3, 'fourth')],
    ['names none', new BatchProcessingException(-1, 'none')],
    ['names a fraction', new BatchProcessingException(0.5, 'half')],
  ])('completes no record, and attributes the failure to none, if it %s', async (_what, error) => {
    expect(await outcomesOf([batchHandler(() => Promise.reject(error))], three)).toEqual([
      { kind: 'failed', reason: 'unattributed', error, attempts: 1, delayMs: 0 },
      handedBack,
      handedBack,
    ]);
  });

  it('gets the records one by one in the redelivery if it named none, and only the bad one fails', async () => {
    const handler = batchHandler((records) => {
      calls.push(records.map(({ value }) => value));
      if (records.some(({ value }) => value === 2)) throw new Error('boom');
    });
    const again = three.map((record, index) => ({
      ...record,
      history: index === 0 ? { failures: 1, isUnattributed: true } : {},
    }));
    expect((await outcomesOf([handler], again)).map(({ kind }) => kind)).toEqual([
      'succeeded',
      'failed',
      'handed-back',
    ]);
    expect(calls).toEqual([[1], [2]]);
  });

  it('gets all records one by one after an error that named no record, also after the second record failed', async () => {
    const handler = batchHandler((records) => {
      calls.push(records.map(({ value }) => value));
      if (records.some(({ value }) => value === 2)) throw new Error('boom');
    });
    const processor = processorOf([handler]);
    const slice = three.map((record, index) =>
      deliveryOf({ ...record, history: index === 0 ? { failures: 1, isUnattributed: true } : {} }),
    );
    for (const from of [0, 1, 2]) void (await processor.processSlice!(slice.slice(from)));
    expect(calls).toEqual([[1], [2], [3]]);
  });

  it('keeps the outcome of records that it acknowledged or dead-lettered, wherever it stopped', async () => {
    const stopping = (error: Error) =>
      batchHandler((_records, contexts) => {
        contexts[0]!.acknowledge();
        contexts[2]!.acknowledge();
        contexts[3]!.deadLetter();
        throw error;
      });
    const four = [...three, { value: 4 }];
    const kinds = async (error: Error) =>
      (await outcomesOf([stopping(error)], four)).map((outcome) =>
        outcome.kind === 'failed' ? outcome.reason : outcome.kind,
      );
    expect(await kinds(stopped)).toEqual([
      'succeeded',
      'retry-exhausted',
      'discarded',
      'handler-gave-up',
    ]);
    // The error names no record, so the first unfinished record is redelivered alone.
    const nowhere = await kinds(new Error('boom'));
    expect(nowhere).toEqual(['discarded', 'unattributed', 'discarded', 'handler-gave-up']);
  });

  it('hands one record back, and completes the others', async () => {
    const handler = batchHandler((_records, contexts) => contexts[1]!.handBack({ delayMs: 50 }));
    expect(await outcomesOf([handler], three)).toEqual([
      succeeded,
      { kind: 'handed-back', delayMs: 50 },
      succeeded,
    ]);
  });
});

describe('A batch handler that returns results', () => {
  const { success, retryable, error } = ConsumerResult;
  const answering = (answer: unknown) => outcomesOf([batchHandler(() => answer)], three);
  const kinds = async (answer: unknown) => (await answering(answer)).map(({ kind }) => kind);

  it('returns one result per record', async () => {
    const outcomes = await answering([undefined, retryable('no stock'), success()]);
    expect(outcomes).toEqual([
      succeeded,
      failedWith(expect.objectContaining({ code: 'RETRYABLE_RESULT', message: 'no stock' })),
      succeeded,
    ]);
  });

  it('may return several failed results', async () => {
    const answer = Promise.resolve([error('a'), success(), error('b')]);
    expect(await kinds(answer)).toEqual(['failed', 'succeeded', 'failed']);
  });

  it('may return one failure for all records, which are then redelivered one by one', async () => {
    expect(await kinds(success())).toEqual(['succeeded', 'succeeded', 'succeeded']);
    expect(await answering(retryable('down'))).toMatchObject([
      { kind: 'failed', reason: 'unattributed' },
      handedBack,
      handedBack,
    ]);
  });

  it('fails if it returns too few or too many results, and completes no record', async () => {
    expect(await answering([success()])).toMatchObject([
      { kind: 'failed', error: { message: expect.stringContaining('1 results for 3 records') } },
      handedBack,
      handedBack,
    ]);
  });

  it.each([[[1, 2, 3]], ['done'], [[]]])(
    'completes all records if it returns %j',
    async (answer) => {
      expect(await kinds(answer)).toEqual(['succeeded', 'succeeded', 'succeeded']);
    },
  );
});

describe('A slice that takes several calls', () => {
  const typed = ['A', 'B', 'A'].map((type, value) => ({ type, value }));
  const isSlow = z.number().refine(async () => true);

  it('is prepared once, and returns outcomes after each call', async () => {
    const filter = jest.fn(() => true);
    const handlers = ['A', 'B'].map((type) => batchHandler(keep, { type, filter }));
    const processor = processorOf(handlers);
    const slice = typed.map((given) => deliveryOf(given));
    for (const from of [0, 1, 2])
      expect(await processor.processSlice!(slice.slice(from))).toEqual([succeeded]);
    expect(calls).toEqual([[0], [1], [2]]);
    expect(filter).toHaveBeenCalledTimes(3);
  });

  it('is not passed to a handler if its delivery is cancelled during the preparation', async () => {
    const paused = new AbortController();
    const processor = processorOf([batchHandler(keep, { payload: isSlow })]);
    const outcomes = processor.processSlice!(
      three.map((given) => deliveryOf(given, { waitSignal: paused.signal })),
    );
    paused.abort();
    expect(await outcomes).toEqual([]);
    expect(calls).toEqual([]);
    const one = deliveryOf({ value: 1 }, { waitSignal: paused.signal });
    expect(await processor.process(one)).toEqual(handedBack);
    expect(calls).toEqual([]);
  });
});

describe('The records behind one that a batch handler has named', () => {
  const four = [1, 2, 3, 4].map((id) => ({ value: Buffer.from(`{"id":${id}}`) }));
  type Order = EventRecord<{ id: number; seen?: boolean }>;

  /** Passes the slice, and then the failed record as another delivery with the ones behind it. */
  async function redeliver(
    handle: (records: readonly Order[]) => unknown,
  ): Promise<{ readonly deserialized: number }> {
    const parse = jest.spyOn(JSON, 'parse');
    const processor = processorOf([batchHandler(handle)]);
    const slice = four.map((given) => deliveryOf(given));
    void (await processor.processSlice!(slice));
    const again = deliveryOf({ ...four[1]!, history: { failures: 1 } });
    const rest = [again, ...slice.slice(2)];
    void (await processor.processSlice!(rest));
    void (await processor.processSlice!(rest.slice(1)));
    const deserialized = parse.mock.calls.length;
    parse.mockRestore();
    return { deserialized };
  }

  it('are not prepared again if the handler has not read them', async () => {
    const { deserialized } = await redeliver((records) => {
      calls.push(records.slice(0, 2).map(({ value }) => value.id));
      if (records.length === 4) throw new BatchProcessingException(1, 'second');
    });
    expect(calls).toEqual([[1, 2], [2], [3, 4]]);
    expect(deserialized).toBe(5);
  });

  it('are prepared again if the handler has read them, because it may have changed them', async () => {
    const { deserialized } = await redeliver((records) => {
      calls.push(records.map(({ value }) => value.seen ?? false));
      for (const { value } of records) value.seen = true;
      if (records.length === 4) throw new BatchProcessingException(1, 'second');
    });
    expect(calls.flat()).not.toContain(true);
    expect(deserialized).toBe(7);
  });

  it('are not changed by a failed call that reads them late', async () => {
    let late: readonly Order[] = [];
    await redeliver((records) => {
      if (records.length === 4) {
        late = records.slice(2);
        throw new BatchProcessingException(1, 'second');
      }
      for (const { value } of late) value.seen = true;
      calls.push(records.map(({ value }) => value.seen ?? false));
    });
    expect(calls).toEqual([[false], [false, false]]);
  });

  it('get another context, to which a failed call has no access', async () => {
    const contexts: unknown[] = [];
    const processor = processorOf([
      batchHandler((records, given) => {
        contexts.push(given.at(-1));
        if (records.length === 4) throw new BatchProcessingException(1, 'second');
      }),
    ]);
    const slice = four.map((given) => deliveryOf(given));
    void (await processor.processSlice!(slice));
    void (await processor.processSlice!(slice.slice(2)));
    expect(contexts).toHaveLength(2);
    expect(contexts[0]).not.toBe(contexts[1]);
  });
});

describe('Records of a slice that cannot be passed to the handler', () => {
  const broken = { value: Buffer.from('{') };

  it('fail after the records before them are handled; the records after them are redelivered', async () => {
    const outcomes = await outcomesOf([batchHandler(keep)], [{ value: 1 }, broken, { value: 3 }]);
    expect(outcomes).toEqual([
      succeeded,
      {
        kind: 'failed',
        reason: 'not-called',
        attempts: 1,
        error: expect.objectContaining({ code: 'DESERIALIZATION' }) as unknown,
      },
      handedBack,
    ]);
    expect(calls).toEqual([[1]]);
  });

  it('fail at once if they are the first of the slice; the others are handed back', async () => {
    const outcomes = await outcomesOf([batchHandler(keep)], [broken, { value: 2 }]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['failed', 'handed-back']);
    expect(calls).toEqual([]);
  });

  it('have their failure at their own index, also if validation is asynchronous', async () => {
    const payload = z.number().refine(async (value) => value < 3, 'too big');
    const outcomes = await outcomesOf([batchHandler(keep, { payload })], three);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['succeeded', 'succeeded', 'failed']);
    expect(calls).toEqual([[1, 2]]);
  });

  it('are discarded by a filter without splitting the slice', async () => {
    const filter = ({ value }: EventRecord) => value !== 2;
    expect(await outcomesOf([batchHandler(keep, { filter })], three)).toEqual([
      succeeded,
      { kind: 'discarded', reason: 'filtered' },
      succeeded,
    ]);
    expect(calls).toEqual([[1, 3]]);
  });

  it('do not change the index of the record that the handler names', async () => {
    const error = new BatchProcessingException(1, 'third of the slice, second of the call');
    const filter = ({ value }: EventRecord) => value !== 2;
    const handler = batchHandler(() => Promise.reject(error), { filter });
    expect(await outcomesOf([handler], [...three, { value: 4 }])).toEqual([
      succeeded,
      { kind: 'discarded', reason: 'filtered' },
      failedWith(error),
      handedBack,
    ]);
  });

  it('may be all records of the slice', async () => {
    const handler = batchHandler(keep, { filter: () => false });
    expect((await outcomesOf([handler], three)).map(({ kind }) => kind)).toEqual(
      Array(3).fill('discarded'),
    );
    expect(calls).toEqual([]);
  });
});

describe('Several batch handlers', () => {
  it('get the records of their types in order, and the records after a failure are handed back', async () => {
    const slice = ['A', 'A', 'B', 'A'].map((type, value) => ({ type, value }));
    const failing = batchHandler(() => Promise.reject(new Error('B')), { type: 'B' });
    const outcomes = await outcomesOf([batchHandler(keep, { type: 'A' }), failing], slice);
    expect(outcomes.map(({ kind }) => kind)).toEqual([
      'succeeded',
      'succeeded',
      'failed',
      'handed-back',
    ]);
    expect(calls).toEqual([[0, 1]]);
  });
});
