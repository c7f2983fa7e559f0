import { sleep } from '@nest-event-bus/broker/runtime';
import { succeeded, type Outcome } from '../../model/outcomes/outcome.js';
import { aRememberedFailure } from '../../model/outcomes/outcomes.spec-support.js';
import { ConsumingTestBed } from '../session/consuming-test-bed.spec-support.js';

const failed = (rest: object = {}): Outcome => ({
  kind: 'failed',
  reason: 'redeliver',
  attempts: 1,
  error: new Error('no'),
  ...rest,
});

/** Handles one record with these outcomes, then with a success. */
async function livesOf(outcomes: readonly Outcome[]) {
  const testBed = await ConsumingTestBed.of(1);
  await testBed.write(1);
  const seen: object[] = [];
  const at: number[] = [];
  await testBed.started(({ history: { redeliveries, failures, calls } }) => {
    at.push(testBed.runtime.monotonic());
    seen.push({ redeliveries, failures, calls });
    return outcomes[seen.length - 1] ?? succeeded;
  });
  await testBed.until(() => seen.length > outcomes.length);
  await testBed.untilCommitted(1);
  await testBed.end();
  return { seen, waits: at.slice(1).map((time, index) => time - at[index]!) };
}

describe('what a delivery knows of those before it', () => {
  it('counts redeliveries, failures and handler calls', async () => {
    const { seen } = await livesOf([
      failed({ attempts: 3 }),
      { kind: 'handed-back' },
      failed({ attempts: 0 }),
      failed(),
    ]);
    expect(seen).toEqual([
      { redeliveries: 0, failures: 0, calls: 0 },
      { redeliveries: 1, failures: 1, calls: 3 },
      { redeliveries: 2, failures: 1, calls: 3 },
      // The handler was not called, so no failure is counted.
      { redeliveries: 3, failures: 1, calls: 3 },
      { redeliveries: 4, failures: 2, calls: 4 },
    ]);
  });
});

it('keeps the summary of the latest failure over later redeliveries', async () => {
  const testBed = await ConsumingTestBed.of(1);
  await testBed.write(1);
  const report = aRememberedFailure();
  const outcomes = [failed({ report }), { kind: 'handed-back' } as const, failed({ attempts: 0 })];
  const seen: unknown[] = [];
  await testBed.started(({ history: { lastFailure } }) => {
    seen.push(lastFailure);
    return outcomes[seen.length - 1] ?? succeeded;
  });
  await testBed.until(() => seen.length > outcomes.length);
  await testBed.untilCommitted(1);
  await testBed.end();
  expect(seen).toEqual([undefined, report, report, report]);
});

describe('a failure with a delay of its own', () => {
  it('is redelivered after that delay, and otherwise after the backoff', async () => {
    const { waits } = await livesOf([
      failed({ delayMs: 7_000 }),
      failed({ delayMs: 20 }),
      failed(),
    ]);
    expect(waits[0]).toBeGreaterThanOrEqual(7_000);
    expect(waits[0]).toBeLessThanOrEqual(7_050);
    expect(waits[1]).toBeLessThanOrEqual(70);
    expect(waits[2]).toBeGreaterThanOrEqual(500);
  });
});

describe('the start of the retry budget', () => {
  it.each([
    ['partition', [0, 3_000, 6_000]],
    ['key', [0, 0, 0]],
  ] as const)('is the start of the slice or of the wait, by %s', async (by, expected) => {
    const testBed = await ConsumingTestBed.of(1);
    await testBed.writeKeys(['a', 'a', 'a']);
    const taken: number[] = [];
    const member = await testBed.started(
      async ({ readySince }) => {
        taken.push(Math.round(testBed.runtime.monotonic() - readySince));
        await sleep(testBed.runtime, 3_000);
        return succeeded;
      },
      { settings: { processing: { by, maxConcurrency: 4 } } },
    );
    await testBed.until(() => member.session.counts.succeeded === 3);
    expect(taken).toEqual(expected);
    await testBed.end();
  });
});
