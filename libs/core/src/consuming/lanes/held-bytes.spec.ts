import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import type { IntakeSettings } from '../session/intake.js';
import { type IntakeUnderTest, IntakeWorld } from '../session/intake-world.spec-support.js';
import { LaneMemory } from './buffer-limit.js';

const TOTAL = 1_000_000;
const RECORD = 20_000;
const RECORDS = 200;

describe.each([
  ['one after the other', {}],
  ['by key', { processing: { by: 'key', maxConcurrency: 4 } }],
  ['in slices', { listenerType: 'BATCH' }],
] as const)('the bytes that lanes hold, %s', (_, shape) => {
  let world: IntakeWorld;
  const settings: Partial<IntakeSettings> = { ...shape, maxPollRecords: 500 };
  beforeEach(async () => {
    world = await IntakeWorld.of(2);
    for (const partition of [0, 1]) await world.writeLarge(RECORDS, RECORD, partition);
  });
  afterEach(() => world.end());

  const inSlices = (handle: () => Outcome | Promise<Outcome>) => ({
    process: handle,
    ...('listenerType' in shape && {
      processSlice: async (slice: readonly unknown[]) => {
        const outcome = await handle();
        return slice.map(() => outcome);
      },
    }),
  });

  const heldBytes = ({ intake }: IntakeUnderTest): number => intake.counts.inFlight * RECORD;

  it('are bounded by the memory, whatever maxPollRecords allows', async () => {
    const gate = new Deferred<Outcome>();
    const memory = new LaneMemory(() => TOTAL);
    const processor = inSlices(() => gate.promise);
    const member = await world.started(undefined, { settings, memory, processor });
    await world.runtime.advance(30_000);
    expect(heldBytes(member)).toBeGreaterThan(TOTAL / 2);
    expect(heldBytes(member)).toBeLessThanOrEqual(TOTAL + 2 * RECORD);
    gate.resolve(succeeded);
    await world.untilCommitted(RECORDS, 0);
    await world.untilCommitted(RECORDS, 1);
    expect(member.intake.counts.inFlight).toBe(0);
  });

  it('may be those of one record that is larger than all of it', async () => {
    const memory = new LaneMemory(() => 1_000, 0);
    const processor = inSlices(() => succeeded);
    const member = await world.started(undefined, { settings, memory, processor });
    await world.untilCommitted(RECORDS, 0);
    await world.untilCommitted(RECORDS, 1);
    expect(member.intake.counts).toMatchObject({ received: 2 * RECORDS, handedBack: 0 });
  });

  it('are given back with what is dropped: a pause leaves room for what comes after it', async () => {
    const memory = new LaneMemory(() => TOTAL);
    let answer: Outcome = { kind: 'handed-back', delayMs: 10 };
    const processor = inSlices(() => answer);
    const member = await world.started(undefined, { settings, memory, processor });
    for (let pauses = 0; pauses < 20; pauses++) {
      await world.done(member.intake.pause('operator'));
      member.intake.resume('operator');
      await world.runtime.advance(100);
      expect(heldBytes(member)).toBeLessThanOrEqual(TOTAL + 2 * RECORD);
    }
    answer = succeeded;
    await world.untilCommitted(RECORDS, 0);
    await world.untilCommitted(RECORDS, 1);
  });
});
