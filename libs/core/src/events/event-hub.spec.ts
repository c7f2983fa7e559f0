import { sleep, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { EventBusEvent } from '../model/events/event-bus-events.js';
import { aFailedRecord } from '../model/events/events.spec-support.js';
import { EventHub } from './event-hub.js';

let runtime: VirtualRuntime;
let warnings: { readonly message: string; readonly context: unknown }[];
let infos: string[];
let hub: EventHub;
let seen: bigint[];

beforeEach(() => {
  runtime = new VirtualRuntime();
  warnings = [];
  infos = [];
  seen = [];
  const quiet = (): void => undefined;
  const warn = (message: string, context: unknown): void =>
    void warnings.push({ message, context });
  const info = (message: string): void => void infos.push(message);
  hub = new EventHub(runtime, { debug: quiet, info, warn, error: quiet });
});

const note = (event: EventBusEvent): void => {
  if ('record' in event) seen.push(event.record.offset);
};

const listen = (handle: (event: EventBusEvent) => unknown, origin = 'Alerts.on in AppModule') =>
  hub.subscribe(['record.failed'], { origin, handle });

const emit = (from: number, to = from): void => {
  for (let offset = from; offset <= to; offset++) hub.emit(aFailedRecord({ offset }));
};

describe('EventHub', () => {
  it('wants an event only while somebody listens to it', () => {
    expect(hub.wants('record.failed')).toBe(false);
    const end = listen(note);
    expect([hub.wants('record.failed'), hub.wants('record.retried')]).toEqual([true, false]);
    end();
    expect(hub.wants('record.failed')).toBe(false);
  });

  it('passes events in their order, and after the work that emitted them', async () => {
    listen(note);
    emit(1, 3);
    await Promise.resolve();
    expect(seen).toEqual([]);
    await runtime.settle();
    expect(seen).toEqual([1n, 2n, 3n]);
  });

  it('passes each event to every listener of its name', async () => {
    listen(note);
    listen(note);
    hub.subscribe(['record.retried'], { origin: 'other', handle: note });
    emit(1);
    await runtime.settle();
    expect(seen).toEqual([1n, 1n]);
  });

  it('passes nothing after the subscription has ended, not even events that waited', async () => {
    const end = listen(note);
    emit(1);
    end();
    emit(2);
    await runtime.settle();
    expect(seen).toEqual([]);
  });

  it('waits for an asynchronous listener before it passes the next event', async () => {
    listen(async (event) => {
      note(event);
      await sleep(runtime, 100);
    });
    emit(1, 3);
    await runtime.advance(150);
    expect(seen).toEqual([1n, 2n]);
    await runtime.advance(150);
    expect(seen).toEqual([1n, 2n, 3n]);
  });
});

describe('A listener of EventHub that throws', () => {
  it.each([
    [
      'synchronously',
      (event: EventBusEvent): never => {
        note(event);
        throw new RangeError('card 4111 1111');
      },
    ],
    [
      'asynchronously',
      async (event: EventBusEvent): Promise<never> => {
        note(event);
        throw new RangeError('card 4111 1111');
      },
    ],
  ])(
    'gets the later events, and is named without the text of its error (%s)',
    async (_, handle) => {
      listen(handle);
      emit(1, 2);
      await runtime.settle();
      expect(seen).toEqual([1n, 2n]);
      expect(warnings).toMatchObject([
        { context: { origin: 'Alerts.on in AppModule', reason: 'RangeError' } },
      ]);
      expect(warnings[0]!.message).toContain('Alerts.on in AppModule, failed');
      expect(JSON.stringify(warnings)).not.toContain('4111');
    },
  );

  it('does not keep the events from other listeners', async () => {
    listen(() => {
      throw new Error('no');
    });
    listen(note, 'another');
    emit(1);
    await runtime.settle();
    expect(seen).toEqual([1n]);
  });

  it('is logged at once, and then once per minute while it throws', async () => {
    listen(() => {
      throw new Error('no');
    });
    for (let second = 0; second < 150; second++) {
      emit(second);
      await runtime.advance(1_000);
    }
    const times = warnings.map(({ context }) => (context as { times?: number }).times);
    expect(times).toEqual([undefined, 59, 60]);
    await runtime.advance(600_000);
    expect(warnings.length).toBeLessThanOrEqual(4);
    expect(runtime.pendingTimers).toBe(0);
  });
});

describe('A listener of EventHub that hangs', () => {
  const hang = (event: EventBusEvent): Promise<void> => {
    note(event);
    return new Promise<void>(() => undefined);
  };

  it('gets the next event after 30 s, and is logged', async () => {
    listen(hang);
    emit(1, 2);
    await runtime.advance(29_000);
    expect([seen, warnings]).toEqual([[1n], []]);
    await runtime.advance(2_000);
    expect(seen).toEqual([1n, 2n]);
    expect(warnings[0]!.message).toContain('did not answer within 30 s');
  });

  it('is not called again while ten calls are without an answer', async () => {
    let release = (): void => undefined;
    listen((event) => {
      note(event);
      return new Promise<void>((resolve) => (release = resolve));
    });
    emit(1, 20);
    await runtime.advance(3_600_000);
    expect(seen).toHaveLength(10);
    release();
    await runtime.settle();
    expect(seen).toHaveLength(11);
  });

  it('holds at most 1,000 events in memory, and the others are counted', async () => {
    listen(hang);
    emit(1);
    await runtime.settle();
    emit(2, 1_501);
    expect(warnings.map(({ message }) => message)).toEqual([
      expect.stringContaining('missed an event because too many wait for it'),
    ]);
    await runtime.advance(61_000);
    expect(infos.at(-1)).toContain('In all, it missed an event 500 times.');
  });

  it('leaves no timer that keeps the process alive', async () => {
    const timers: (boolean | undefined)[] = [];
    const setTimer = runtime.setTimer.bind(runtime);
    runtime.setTimer = (callback, delayMs, options?: { readonly background?: boolean }) => {
      timers.push(options?.background);
      return setTimer(callback, delayMs);
    };
    listen(hang);
    emit(1);
    await runtime.advance(31_000);
    expect(timers.length).toBeGreaterThan(0);
    expect(new Set(timers)).toEqual(new Set([true]));
  });
});
