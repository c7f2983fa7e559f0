import { Deferred } from '@nest-event-bus/broker/runtime';
import { type Outcome, succeeded } from '../../model/outcomes/outcome.js';
import type { ConsumingSettings } from '../session/consuming-session.js';
import { ConsumingTestBed, upTo } from '../session/consuming-test-bed.spec-support.js';

/** Completes every second of many records by key. The others run until the test ends them. */
async function everySecondDone(
  offsetMetadataLimit: number,
  settings: Partial<ConsumingSettings> = {},
  keys: readonly string[] = upTo(400).map(String),
) {
  const testBed = await ConsumingTestBed.of(1, { offsetMetadataLimit });
  await testBed.writeKeys(keys);
  const gates = new Map<number, Deferred<Outcome>>();
  const member = await testBed.started(
    ({ record: { offset } }) => {
      if (offset % 2 === 1) return succeeded;
      const gate = new Deferred<Outcome>();
      gates.set(offset, gate);
      return gate.promise;
    },
    {
      settings: {
        processing: { by: 'key', maxConcurrency: 100 },
        maxPollRecords: 10,
        ...settings,
      },
    },
  );
  const endAll = async (): Promise<void> => {
    while ((await testBed.committed()) !== keys.length) {
      for (const gate of gates.values()) gate.resolve(succeeded);
      await testBed.runtime.advance(50);
    }
  };
  return { testBed, member, gates, endAll };
}

describe('a broker with a smaller metadata limit', () => {
  it('gets shorter metadata, and stores every commit', async () => {
    const { testBed, member, endAll } = await everySecondDone(150);
    await testBed.runtime.advance(5_000);
    const commit = await testBed.commitOf();
    expect(commit?.offset).toBe(0);
    expect(commit?.metadata?.length).toBeGreaterThan(60);
    expect(commit?.metadata?.length).toBeLessThanOrEqual(150);
    expect(member.session.status.state).toBe('joined');
    await endAll();
    expect((await testBed.commitOf())?.metadata ?? '').toBe('');
    await testBed.end();
  });

  it('gets no metadata if it accepts none, and records are still handled', async () => {
    const { testBed, member, gates, endAll } = await everySecondDone(3);
    await testBed.runtime.advance(5_000);
    expect((await testBed.commitOf())?.metadata ?? '').toBe('');
    expect(gates.size).toBe(100);
    expect(member.session.status.state).toBe('joined');
    await endAll();
    await testBed.end();
  });
});

describe('full commit metadata', () => {
  it('stops fetching the partition until there is room', async () => {
    const { testBed, member, gates, endAll } = await everySecondDone(150);
    await testBed.runtime.advance(5_000);
    expect(gates.size).toBeLessThan(100);
    expect(member.session.status.partitionPauses).toMatchObject([{ reasons: ['backpressure'] }]);
    await endAll();
    expect(member.session.status.partitionPauses).toEqual([]);
    expect(member.offsets().toSorted((one, other) => one - other)).toEqual(upTo(400));
    await testBed.end();
  });

  it('stops fetching the partition no longer than necessary with MANUAL, too', async () => {
    const keys = ['first', ...upTo(1_198).map(String), 'first'];
    keys[2] = 'first';
    const settings = { ackMode: 'MANUAL', maxPollRecords: 50 } as const;
    const { testBed, member, gates, endAll } = await everySecondDone(150, settings, keys);
    await testBed.runtime.advance(5_000);
    expect(member.session.status.partitionPauses).toMatchObject([{ reasons: ['backpressure'] }]);
    for (let turns = 0; turns < 50; turns++) {
      for (const [offset, gate] of gates) if (offset > 0) gate.resolve(succeeded);
      await testBed.runtime.advance(100);
    }
    // All records were handed out, except those in line.
    expect(member.handled.length).toBe(1_198);
    await endAll();
    await testBed.end();
  });
});
