import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import type { ConsumingSettings } from '../session/consuming-session.js';
import {
  type SessionUnderTest,
  ConsumingTestBed,
} from '../session/consuming-test-bed.spec-support.js';
import { BufferLimit } from './buffer-limit.js';

const TOTAL = 1_000_000;
const RECORD = 20_000;
const RECORDS = 200;

describe.each([
  ['one after the other', {}],
  ['by key', { processing: { by: 'key', maxConcurrency: 4 } }],
  ['in slices', { listenerType: 'BATCH' }],
] as const)('the buffered bytes of lanes, %s', (_, shape) => {
  let testBed: ConsumingTestBed;
  const settings: Partial<ConsumingSettings> = { ...shape, maxPollRecords: 500 };
  beforeEach(async () => {
    testBed = await ConsumingTestBed.of(2);
    for (const partition of [0, 1]) await testBed.writeLarge(RECORDS, RECORD, partition);
  });
  afterEach(() => testBed.end());

  const inSlices = (handle: () => Outcome | Promise<Outcome>) => ({
    process: handle,
    ...('listenerType' in shape && {
      processSlice: async (slice: readonly unknown[]) => {
        const outcome = await handle();
        return slice.map(() => outcome);
      },
    }),
  });

  const heldBytes = ({ session }: SessionUnderTest): number => session.counts.inFlight * RECORD;

  it('stay within the limit, whatever maxPollRecords allows', async () => {
    const gate = new Deferred<Outcome>();
    const bufferLimit = new BufferLimit(() => TOTAL);
    const processor = inSlices(() => gate.promise);
    const member = await testBed.started(undefined, { settings, bufferLimit, processor });
    await testBed.runtime.advance(30_000);
    expect(heldBytes(member)).toBeGreaterThan(TOTAL / 2);
    expect(heldBytes(member)).toBeLessThanOrEqual(TOTAL + 2 * RECORD);
    gate.resolve(succeeded);
    await testBed.untilCommitted(RECORDS, 0);
    await testBed.untilCommitted(RECORDS, 1);
    expect(member.session.counts.inFlight).toBe(0);
  });

  it('may exceed the limit by one large record', async () => {
    const bufferLimit = new BufferLimit(() => 1_000, 0);
    const processor = inSlices(() => succeeded);
    const member = await testBed.started(undefined, { settings, bufferLimit, processor });
    await testBed.untilCommitted(RECORDS, 0);
    await testBed.untilCommitted(RECORDS, 1);
    expect(member.session.counts).toMatchObject({ received: 2 * RECORDS, handedBack: 0 });
  });

  it('become free when a pause drops the buffer', async () => {
    const bufferLimit = new BufferLimit(() => TOTAL);
    let answer: Outcome = { kind: 'handed-back', delayMs: 10 };
    const processor = inSlices(() => answer);
    const member = await testBed.started(undefined, { settings, bufferLimit, processor });
    for (let pauses = 0; pauses < 20; pauses++) {
      await testBed.done(member.session.pause('operator'));
      member.session.resume('operator');
      await testBed.runtime.advance(100);
      expect(heldBytes(member)).toBeLessThanOrEqual(TOTAL + 2 * RECORD);
    }
    answer = succeeded;
    await testBed.untilCommitted(RECORDS, 0);
    await testBed.untilCommitted(RECORDS, 1);
  });
});
