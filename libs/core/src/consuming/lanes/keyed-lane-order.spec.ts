import { succeeded } from '../../model/outcomes/outcome.js';
import { ConsumingTestBed, reconciles, upTo } from '../session/consuming-test-bed.spec-support.js';
import { Keys } from './keyed-lane.spec-support.js';

describe("records with processing.by 'key'", () => {
  it('run concurrently, in order for each key; records without a key share a queue', async () => {
    const keys = await Keys.of(['a', 'b', 'a', null, null, 'c', '']);
    const { session } = await keys.start();
    await keys.testBed.until(() => keys.running.length === 5);
    expect(keys.begun).toEqual([0, 1, 3, 5, 6]);
    expect(session.status.runningHandlers).toBe(5);
    await keys.end(0);
    expect(keys.begun).toEqual([0, 1, 3, 5, 6, 2]);
    await keys.end(3);
    expect(keys.begun.at(-1)).toBe(4);
    await keys.endAll();
    await keys.testBed.untilCommitted(7);
    expect(reconciles(session.counts)).toBe(true);
    await keys.testBed.end();
  });

  it('run in at most maxConcurrency handlers over all partitions of the session', async () => {
    const testBed = await ConsumingTestBed.of(3);
    for (const partition of upTo(3)) await testBed.writeKeys(upTo(20).map(String), partition);
    const keys = new Keys(testBed, () => undefined);
    await keys.start({ processing: { by: 'key', maxConcurrency: 4 } });
    await testBed.until(() => keys.running.length === 4);
    for (let turns = 0; turns < 60; turns++) {
      await testBed.until(() => keys.running.length > 0);
      await keys.end(keys.running[0] as number);
    }
    expect([keys.begun.length, keys.most]).toEqual([60, 4]);
    for (const partition of upTo(3)) await testBed.untilCommitted(20, partition);
    await testBed.end();
  });

  it("of one key run concurrently if processing.by is 'none' instead", async () => {
    const keys = await Keys.of(['a', 'a', 'a']);
    await keys.start({ processing: { by: 'none', maxConcurrency: 8 } });
    await keys.testBed.until(() => keys.running.length === 3);
    await keys.endAll();
    await keys.testBed.untilCommitted(3);
    await keys.testBed.end();
  });

  it('commit the contiguous watermark, with the completed records beyond it as metadata', async () => {
    const keys = await Keys.of(['a', 'b', 'c', 'd']);
    await keys.start();
    await keys.testBed.until(() => keys.running.length === 4);
    await keys.end(1);
    await keys.end(3);
    await keys.testBed.runtime.advance(100);
    expect(await keys.testBed.commitOf()).toMatchObject({
      offset: 0,
      metadata: expect.stringMatching(/^eb2 0@/),
    });
    await keys.end(0);
    await keys.testBed.untilCommitted(2);
    await keys.end(2);
    await keys.testBed.untilCommitted(4);
    expect((await keys.testBed.commitOf())?.metadata ?? '').toBe('');
    await keys.testBed.end();
  });

  it('run in the order of the log, without promises, if handlers return at once', async () => {
    const keys = await Keys.of(
      upTo(200).map((index) => String(index % 7)),
      () => succeeded,
    );
    const { session } = await keys.start();
    await keys.testBed.untilCommitted(200);
    expect(keys.begun).toEqual(upTo(200));
    expect(session.counts).toMatchObject({ succeeded: 200, inFlight: 0 });
    await keys.testBed.end();
  });

  it('are committed with ackMode MANUAL when a slice is complete, or when running handlers let no further record begin', async () => {
    const keys = await Keys.of(upTo(20).map(String));
    const processing = { by: 'key', maxConcurrency: 7 } as const;
    await keys.start({ ackMode: 'MANUAL', maxPollRecords: 5, processing });
    await keys.testBed.until(() => keys.running.length === 7);
    for (const offset of upTo(4)) await keys.end(offset);
    await keys.testBed.runtime.advance(1_000);
    expect(await keys.testBed.committed()).toBeUndefined();
    await keys.end(4);
    await keys.testBed.untilCommitted(5);
    // If no further record can begin, completed records are committed at once.
    for (const offset of upTo(11)) await keys.end(5 + offset);
    await keys.end(17);
    await keys.end(16);
    await keys.testBed.untilCommitted(18);
    await keys.endAll();
    await keys.testBed.untilCommitted(20);
    await keys.testBed.end();
  });

  it('are committed with MANUAL while another record waits for its delay', async () => {
    const keys = await Keys.of(['bad', 'bad', ...upTo(8).map(String)], ({ record }) => {
      return record.offset === 0 ? { kind: 'handed-back', delayMs: 600_000 } : undefined;
    });
    await keys.start({ ackMode: 'MANUAL', maxPollRecords: 50 });
    await keys.testBed.until(() => keys.running.length === 8);
    for (const offset of [2, 3]) await keys.end(offset);
    await keys.testBed.runtime.advance(100);
    expect(await keys.doneBeyondGap()).toEqual([2, 3]);
    await keys.endAll();
    await keys.testBed.runtime.advance(100);
    expect(await keys.doneBeyondGap()).toEqual(upTo(8, 2));
    await keys.testBed.end();
  });

  it('are not committed one by one with MANUAL while other records of their key wait', async () => {
    const stored: number[] = [];
    const keys = await Keys.of(upTo(12).map(() => 'one'));
    const settings = { ackMode: 'MANUAL', maxPollRecords: 5 } as const;
    await keys.start(settings, { onCommit: (offset) => stored.push(offset) });
    for (const offset of upTo(12)) {
      await keys.testBed.until(() => keys.running.length === 1);
      await keys.end(offset);
      await keys.testBed.runtime.advance(100);
    }
    expect(stored).toEqual([5, 10, 11, 12]);
    await keys.testBed.end();
  });
});
