import fc from 'fast-check';
import { z } from 'zod';
import type { EventRecord } from '../model/event-record.js';
import type { Outcome } from '../model/outcome.js';
import type { SliceHandler } from '../model/record-handler.js';
import { BatchProcessingException } from '../errors/handler-errors.js';
import {
  batchHandler,
  deliveryOf,
  processorOf,
  type DeliveredRecord,
} from './pipeline.spec-support.js';

const succeeded = { kind: 'succeeded' };
const handedBack = { kind: 'handed-back' };
const failedWith = (error: unknown) => ({
  kind: 'failed',
  error,
  attempts: 1,
  ending: 'exhausted',
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
  return processorOf(handlers).processSlice!(slice.map((given) => deliveryOf(given)));
}

const three = [{ value: 1 }, { value: 2 }, { value: 3 }];

describe('a handler of slices', () => {
  it('is called once with all records, at once where nothing is asynchronous', () => {
    const outcomes = processorOf([batchHandler(keep)]).processSlice!(three.map(deliveryOf));
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

  it('takes a single delivery as a slice of one', async () => {
    const processor = processorOf([batchHandler(keep)]);
    expect(processor.process(deliveryOf({ value: 1 }))).toEqual(succeeded);
    const later = processorOf([batchHandler(async () => undefined)]);
    expect(await later.process(deliveryOf())).toEqual(succeeded);
    expect(calls).toEqual([[1]]);
  });
});

describe('where a handler of slices fails', () => {
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
    '%s and says where: what is before is done, what is after comes again',
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
  ])('and %s: nothing is taken as done', async (_what, error) => {
    expect(await outcomesOf([batchHandler(() => Promise.reject(error))], three)).toEqual([
      failedWith(error),
      handedBack,
      handedBack,
    ]);
  });

  it('a record that it hands back ends the slice there', async () => {
    const handler = batchHandler((_records, contexts) => contexts[1]!.handBack({ delayMs: 50 }));
    expect(await outcomesOf([handler], three)).toEqual([
      succeeded,
      { kind: 'handed-back', delayMs: 50 },
      handedBack,
    ]);
  });
});

describe('records that never reach the handler', () => {
  const broken = { value: Buffer.from('{') };

  it('fail at their place: those before are handled, those after come again', async () => {
    const outcomes = await outcomesOf([batchHandler(keep)], [{ value: 1 }, broken, { value: 3 }]);
    expect(outcomes).toEqual([
      succeeded,
      { kind: 'failed', error: expect.objectContaining({ code: 'DESERIALIZATION' }) as unknown },
      handedBack,
    ]);
    expect(calls).toEqual([[1]]);
  });

  it('fail alone where the first is bad', async () => {
    const outcomes = await outcomesOf([batchHandler(keep)], [broken, { value: 2 }]);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['failed', 'handed-back']);
    expect(calls).toEqual([]);
  });

  it('fail at their place where validation takes its time', async () => {
    const payload = z.number().refine(async (value) => value < 3, 'too big');
    const outcomes = await outcomesOf([batchHandler(keep, { payload })], three);
    expect(outcomes.map(({ kind }) => kind)).toEqual(['succeeded', 'succeeded', 'failed']);
    expect(calls).toEqual([[1, 2]]);
  });

  it('are discarded without parting the others', async () => {
    const filter = ({ value }: EventRecord) => value !== 2;
    expect(await outcomesOf([batchHandler(keep, { filter })], three)).toEqual([
      succeeded,
      { kind: 'discarded', reason: 'filtered' },
      succeeded,
    ]);
    expect(calls).toEqual([[1, 3]]);
  });

  it('keep the place of a failure right', async () => {
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

  it('may be all of them', async () => {
    const handler = batchHandler(keep, { filter: () => false });
    expect((await outcomesOf([handler], three)).map(({ kind }) => kind)).toEqual(
      Array(3).fill('discarded'),
    );
    expect(calls).toEqual([]);
  });
});

describe('several handlers of slices', () => {
  it('get the stretches of their types in order, and a failure ends the slice', async () => {
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

describe('whatever a slice holds', () => {
  const kinds = fc.constantFrom('good', 'other', 'filtered', 'broken', 'unknown', 'failing');

  it('the first record that is not done ends it, and none comes before its turn', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(kinds, { minLength: 1, maxLength: 12 }), async (slice) => {
        const seen: number[] = [];
        const handle: SliceHandler<never> = async (
          records: readonly EventRecord<{ kind: string; index: number }>[],
        ) => {
          for (const [position, { value }] of records.entries()) {
            if (value.kind === 'failing') throw new BatchProcessingException(position, 'x');
            seen.push(value.index);
          }
        };
        const filter = ({ value }: EventRecord) => (value as { kind: string }).kind !== 'filtered';
        const outcomes = await outcomesOf(
          [batchHandler(handle, { type: 'good', filter }), batchHandler(handle, { type: 'other' })],
          slice.map((kind, index) => ({
            type: ['other', 'unknown'].includes(kind) ? kind : 'good',
            value: kind === 'broken' ? Buffer.from('{') : { kind, index },
          })),
        );
        const end = slice.findIndex((kind) => kind === 'broken' || kind === 'failing');
        expect(outcomes.map(({ kind }) => kind)).toEqual(
          slice.map((kind, index) => expectedKind(kind, index, end)),
        );
        const done = slice.flatMap((kind, index) =>
          ['good', 'other'].includes(kind) && (end === -1 || index < end) ? [index] : [],
        );
        expect(seen).toEqual(done);
      }),
    );
  });
});

function expectedKind(kind: string, index: number, end: number): string {
  if (end !== -1 && index === end) return 'failed';
  if (end !== -1 && index > end) return 'handed-back';
  return kind === 'filtered' || kind === 'unknown' ? 'discarded' : 'succeeded';
}
