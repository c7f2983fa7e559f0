import { Deferred } from '@nest-event-bus/broker/runtime';
import type { UnfinishedFailure } from '../../model/outcomes/failed-outcome.js';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import { ConsumingTestBed } from '../session/consuming-test-bed.spec-support.js';

let testBed: ConsumingTestBed;
let delays: (number | undefined)[];

beforeEach(async () => {
  testBed = await ConsumingTestBed.of(1);
  delays = [];
});
afterEach(() => testBed.end());

/** A failure that wants to know when its record is delivered again. */
const failure = (
  given: Partial<UnfinishedFailure & { readonly reason: 'redeliver' }> = {},
): Outcome => ({
  kind: 'failed',
  reason: 'redeliver',
  error: new Error('no'),
  attempts: 1,
  onRedelivery: (inMs) => void delays.push(inMs),
  ...given,
});

/** Answers the first calls with these outcomes, and the later ones with success. */
const answers =
  (...given: Outcome[]) =>
  () =>
    given.shift() ?? succeeded;

describe.each(['partition', 'key'] as const)('A failed record, processed by %s', (by) => {
  const settings = { processing: { by, maxConcurrency: 4 } };

  it('reports the delay until it is delivered again', async () => {
    await testBed.write(1);
    await testBed.started(answers(failure({ delayMs: 700 }), failure()), { settings });
    await testBed.untilCommitted(1);
    expect(delays).toEqual([700, expect.any(Number)]);
    expect(delays[1]).toBeGreaterThan(0);
  });

  it('reports an unknown delay if its partition was taken away meanwhile', async () => {
    await testBed.write(1);
    const gate = new Deferred<Outcome>();
    const { session } = await testBed.started(() => gate.promise, { settings });
    await testBed.until(() => session.status.runningHandlers === 1);
    await testBed.done(session.close({ drainMs: 100 }));
    gate.resolve(failure());
    await testBed.runtime.settle();
    expect(delays).toStrictEqual([undefined]);
  });
});

describe('A failed record of a slice', () => {
  const settings = { listenerType: 'BATCH', maxPollRecords: 5 } as const;

  async function startSlices(...given: (readonly Outcome[])[]): Promise<void> {
    await testBed.write(3);
    const processSlice = (slice: readonly unknown[]): readonly Outcome[] =>
      given.shift() ?? slice.map(() => succeeded);
    await testBed.started(undefined, {
      settings,
      processor: { process: () => succeeded, processSlice },
    });
    await testBed.untilCommitted(3);
  }

  it('reports that it is delivered again at once, from memory', async () => {
    await startSlices([failure({ batch: 'from-failed-record' })]);
    expect(delays).toEqual([0]);
  });

  it('reports no delay of its own if an earlier record of the slice has failed', async () => {
    await startSlices([failure({ delayMs: 700 }), failure({ delayMs: 900 })]);
    expect(delays).toHaveLength(2);
    expect(delays).toEqual(expect.arrayContaining([700, undefined]));
  });
});
