import fc from 'fast-check';
import { BufferLimit } from '../lanes/buffer-limit.js';
import { ConsumingTestBed, reconciles, upTo } from './consuming-test-bed.spec-support.js';
import {
  PARTITIONS,
  RECORDS,
  MAX_POLL_MS,
  LITTLE_MEMORY,
  keyOf,
  RandomHistory,
  type Mode,
  type Step,
  STEPS,
} from './random-history.spec-support.js';

async function lived(mode: Mode, seed: number, steps: readonly Step[]): Promise<RandomHistory> {
  const testBed = await ConsumingTestBed.of(PARTITIONS, { seed });
  for (let partition = 0; partition < PARTITIONS; partition++)
    await testBed.writeKeys(upTo(RECORDS).map(keyOf), partition);
  const bufferLimit = new BufferLimit(() => (seed % 2 === 0 ? LITTLE_MEMORY : Infinity), 0);
  const life = new RandomHistory(testBed, mode, bufferLimit);
  life.add('MANUAL_IMMEDIATE');
  life.add('MANUAL');
  for (const step of steps) await life.take(step);
  life.resumeAll();
  await testBed.until(() => life.missing === 0 || life.broken.length > 0);
  expect(life.broken).toEqual([]);
  // Ends handlers that have outlived their assignments.
  await testBed.runtime.advance(3 * MAX_POLL_MS);
  for (let partition = 0; partition < PARTITIONS; partition++)
    expect(await testBed.committed(partition)).toBe(RECORDS);
  for (const { session } of life.members) {
    expect(reconciles(session.counts)).toBe(true);
    expect(session.counts.inFlight).toBe(0);
  }
  await testBed.end();
  expect(life.broken).toEqual([]);
  return life;
}

describe('a group with random failures, pauses, losses and rebalances', () => {
  const step = fc.record<Step>({
    kind: fc.constantFrom(...STEPS),
    pick: fc.nat(59),
    ms: fc.nat(300),
  });
  const steps = fc.array(step, { minLength: 10, maxLength: 60, size: 'max' });

  it.each<Mode>(['partition', 'slices', 'key', 'none'])(
    'handles every record in order by %s, and never commits past an unfinished one',
    async (mode) => {
      let [redelivered, late] = [0, 0];
      await fc.assert(
        fc.asyncProperty(fc.nat(), steps, async (seed, course) => {
          const life = await lived(mode, seed, course);
          redelivered += life.redelivered;
          late += life.late;
        }),
        // Shrinking would take minutes.
        { numRuns: 12, endOnFailure: true },
      );
      expect(Math.min(redelivered, late)).toBeGreaterThan(0);
    },
    120_000,
  );
});
