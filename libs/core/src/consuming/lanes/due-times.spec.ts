import type { BrokerRecord } from '@nest-event-bus/broker';
import { type RecordProcessor, succeeded } from '../../model/outcomes/outcome.js';
import {
  type IntakeUnderTestOptions,
  IntakeWorld,
  upTo,
} from '../session/intake-world.spec-support.js';

interface HandedOut {
  readonly offset: number;
  readonly at: number;
  readonly receivedAt: number;
}

/** Records of one partition, each with the time from which on it may be handed out, counted from the start. */
async function dueIn(delays: readonly number[], options: Partial<IntakeUnderTestOptions> = {}) {
  const world = await IntakeWorld.of(1);
  await world.write(delays.length);
  const start = world.runtime.now();
  const handed: HandedOut[] = [];
  const asked = new Set<number>();
  const processor: RecordProcessor = {
    process: ({ record: { offset }, receivedAt }) => {
      handed.push({ offset, at: world.runtime.now() - start, receivedAt: receivedAt - start });
      return succeeded;
    },
    dueAt: ({ offset }: BrokerRecord) => {
      asked.add(offset);
      return start + (delays[offset] as number);
    },
  };
  const { intake } = await world.started(undefined, { processor, ...options });
  const offsets = (): number[] => handed.map(({ offset }) => offset);
  const pauses = () => intake.status.partitionPauses.map(({ reasons }) => reasons);
  return { world, intake, handed, offsets, asked, start, pauses };
}

describe('a record that is not due', () => {
  it('waits in its place, exactly until it is', async () => {
    const { world, handed, pauses } = await dueIn([0, 5_000, 5_000, 90_123]);
    await world.until(() => handed.length > 0);
    expect(pauses()).toEqual([['delay']]);
    await world.until(() => handed.length === 4);
    expect(handed.slice(1).map(({ at }) => at)).toEqual([5_000, 5_000, 90_123]);
    expect(pauses()).toEqual([]);
    await world.untilCommitted(4);
    await world.end();
  });

  it('holds up those behind it, which nobody looks at', async () => {
    const { world, handed, asked, offsets } = await dueIn([0, 60_000, 0, 0]);
    await world.runtime.advance(50_000);
    expect([offsets(), [...asked]]).toEqual([[0], [0, 1]]);
    expect(await world.committed()).toBe(1);
    await world.until(() => handed.length === 4);
    await world.end();
  });

  it('begins its budget when it is due, and so do those that waited behind it', async () => {
    const { world, handed } = await dueIn([60_000, 0, 70_000]);
    await world.until(() => handed.length === 3);
    expect(handed.map(({ receivedAt }) => receivedAt)).toEqual([60_000, 60_000, 70_000]);
    await world.end();
  });

  it.each(['partition', 'key'] as const)(
    'may be one whose time cannot be told: the partition is held and asks again, by %s',
    async (by) => {
      const world = await IntakeWorld.of(1);
      await world.write(4);
      const handed: number[] = [];
      let asked = 0;
      const processor: RecordProcessor = {
        process: ({ record }) => {
          handed.push(record.offset);
          return succeeded;
        },
        dueAt: ({ offset }) => {
          if (offset === 2 && asked++ < 2) throw new Error('who knows?');
          return 0;
        },
      };
      const settings = { processing: { by, maxConcurrency: 4 } };
      const { intake } = await world.started(undefined, { processor, settings });
      await world.until(() => asked === 1);
      await world.until(() => intake.status.partitionPauses.length > 0);
      const [pause] = intake.status.partitionPauses;
      expect([pause?.reasons, pause?.error?.message]).toEqual([['backoff'], 'who knows?']);
      await world.untilCommitted(4);
      expect(handed).toEqual(upTo(4));
      expect(intake.counts).toMatchObject({ succeeded: 4, inFlight: 0 });
      await world.end();
    },
  );

  it.each(['partition', 'key'] as const)(
    'keeps nothing that is done from being committed by MANUAL: by %s',
    async (by) => {
      const settings = { processing: { by, maxConcurrency: 4 }, ackMode: 'MANUAL' } as const;
      const delays = [0, 0, 600_000];
      const { world } = await dueIn(delays, { settings: { ...settings, maxPollRecords: 50 } });
      await world.untilCommitted(2);
      await world.end();
    },
  );

  it('stops the fetching of its partition when as many wait as one slice holds', async () => {
    const { world, intake, handed, pauses } = await dueIn(upTo(30).map(() => 60_000));
    await world.runtime.advance(1_000);
    expect(pauses()).toEqual([['delay', 'backpressure']]);
    expect(intake.counts.inFlight).toBeLessThanOrEqual(10);
    await world.until(() => handed.length === 30);
    await world.untilCommitted(30);
    await world.end();
  });

  it('is not hurried by a pause and a resume, and does not end the pause', async () => {
    const { world, intake, handed, offsets, pauses } = await dueIn([0, 10_000, 40_000]);
    await world.runtime.advance(5_000);
    await world.done(intake.pause('operator'));
    expect([pauses(), intake.counts.inFlight]).toEqual([[], 0]);
    await world.runtime.advance(15_000);
    expect(offsets()).toEqual([0]);
    intake.resume('operator');
    await world.until(() => handed.length === 2);
    expect(handed[1]?.at).toBeLessThan(20_100);
    await world.done(intake.pause('operator'));
    intake.resume('operator');
    await world.until(() => handed.length === 3);
    expect(handed[2]?.at).toBe(40_000);
    await world.end();
  });

  it('does not keep a drain, a revocation or the close waiting', async () => {
    const { world, intake, offsets } = await dueIn([0, 600_000, 600_000]);
    await world.runtime.advance(1_000);
    const before = world.runtime.monotonic();
    expect(await world.done(intake.drain(30_000))).toEqual({ complete: true, abandoned: [] });
    await world.done(intake.close());
    expect(world.runtime.monotonic() - before).toBeLessThan(100);
    expect([intake.counts.inFlight, offsets()]).toEqual([0, [0]]);
    expect(await world.committed()).toBe(1);
    expect(world.runtime.pendingTimers).toBe(0);
  });

  it('waits for its time at the next member, too', async () => {
    const { world, intake, handed, start } = await dueIn([30_000]);
    await world.runtime.advance(5_000);
    await world.done(intake.close());
    const at: number[] = [];
    const processor: RecordProcessor = {
      process: () => {
        at.push(world.runtime.now() - start);
        return succeeded;
      },
      dueAt: () => start + 30_000,
    };
    await world.started(undefined, { processor });
    await world.until(() => at.length > 0);
    expect([at, handed]).toEqual([[30_000], []]);
    await world.end();
  });

  it.each([Number.NaN, -Infinity])('is due at once when its time is %s', async (time) => {
    const { world, handed } = await dueIn([time]);
    await world.until(() => handed.length > 0);
    expect(handed[0]?.receivedAt).toBeLessThan(1_000);
    await world.end();
  });

  it('whose time cannot be told holds its partition back, for everybody to see', async () => {
    const processor: RecordProcessor = {
      process: () => succeeded,
      dueAt: () => {
        throw new TypeError('no time');
      },
    };
    const { world, intake } = await dueIn([0], { processor });
    await world.until(() => intake.status.partitionPauses.length > 0);
    expect(intake.status.partitionPauses).toMatchObject([
      { reasons: ['backoff'], error: { message: 'no time' } },
    ]);
    await world.end();
  });

  it('ends a slice: a handler of slices gets what is due', async () => {
    const world = await IntakeWorld.of(1);
    await world.write(4);
    const start = world.runtime.now();
    const slices: number[][] = [];
    const processor: RecordProcessor = {
      process: () => succeeded,
      processSlice: (slice) => {
        slices.push(slice.map(({ record }) => record.offset));
        return slice.map(() => succeeded);
      },
      dueAt: ({ offset }) => (offset < 2 ? start : start + 20_000),
    };
    await world.started(undefined, { processor });
    await world.until(() => slices.flat().length === 4);
    expect(slices).toEqual([
      [0, 1],
      [2, 3],
    ]);
    await world.end();
  });
});
