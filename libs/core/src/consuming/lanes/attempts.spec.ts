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

/** One record, and what its handler says about it each time; then it succeeds. */
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
  it('is how many there were, how many of them failed, and by how many calls', async () => {
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
      // No call was made, so nothing is held against it.
      { redeliveries: 3, failures: 1, calls: 3 },
      { redeliveries: 4, failures: 2, calls: 4 },
    ]);
  });
});

it('remembers the report of the latest failure, whatever comes in between', async () => {
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

describe('a failure that says when its record is to come again', () => {
  it('is heard; one that does not, is backed off', async () => {
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

describe('the time from which the budget of a delivery counts', () => {
  it.each([
    ['partition', [0, 3_000, 6_000]],
    ['key', [0, 0, 0]],
  ] as const)('by %s: the begin of its slice, or its own', async (by, expected) => {
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
