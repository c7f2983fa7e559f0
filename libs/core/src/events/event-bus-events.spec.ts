import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { filter, firstValueFrom, map, merge } from 'rxjs';
import { aFailedRecord } from '../model/events/events.spec-support.js';
import { EventBusEvents } from './event-bus-events.js';
import { EventHub } from './event-hub.js';

let runtime: VirtualRuntime;
let warnings: string[];
let hub: EventHub;
let events: EventBusEvents;
let seen: unknown[];

beforeEach(() => {
  runtime = new VirtualRuntime();
  warnings = [];
  seen = [];
  const quiet = (): void => undefined;
  const warn = (message: string, context: unknown): void =>
    void warnings.push(`${message} ${JSON.stringify(context)}`);
  const logger = { debug: quiet, info: quiet, warn, error: quiet };
  hub = new EventHub(runtime, logger);
  events = new EventBusEvents(hub, runtime, logger);
});

const emit = async (...offsets: readonly number[]): Promise<void> => {
  for (const offset of offsets) hub.emit(aFailedRecord({ offset }));
  await runtime.settle();
};

describe('EventBusEvents', () => {
  it('listens to the bus only while somebody is subscribed', () => {
    const failures$ = events.on('record.failed');
    expect(hub.wants('record.failed')).toBe(false);
    const subscription = failures$.subscribe();
    expect(hub.wants('record.failed')).toBe(true);
    subscription.unsubscribe();
    expect(hub.wants('record.failed')).toBe(false);
  });

  it('passes events by their names, or all of them', async () => {
    events.on('record.failed').subscribe(({ exception }) => seen.push(exception.className));
    events.on('record.retried', 'record.dead-lettered').subscribe(() => seen.push('wrong'));
    events.all$.subscribe(({ name }) => seen.push(name));
    await emit(1);
    expect(seen).toEqual(['TypeError', 'record.failed']);
  });

  it('works with operators and with promises', async () => {
    const first = firstValueFrom(events.on('record.failed').pipe(filter((each) => !each.isFinal)));
    events
      .on('record.failed')
      .pipe(map(({ record }) => String(record)))
      .subscribe((position) => seen.push(position));
    merge(events.on('record.failed'), events.on('record.retried')).subscribe(({ name }) =>
      seen.push(name),
    );
    await emit(1);
    expect(seen).toEqual(['orders-0@1', 'record.failed']);
    expect((await first).binding).toBe('orders');
  });
});

describe('A subscriber of EventBusEvents', () => {
  const fail = (): never => {
    throw new RangeError('card 4111');
  };

  it.each([
    ['throws', fail],
    ['throws as an observer', { next: fail }],
    ['rejects', async () => fail()],
  ])('that %s stays subscribed, and is logged without the text of its error', async (_, next) => {
    let calls = 0;
    const given = typeof next === 'function' ? next : next.next;
    const counted = (): unknown => {
      calls++;
      return given();
    };
    if (typeof next === 'function') events.on('record.failed').subscribe(counted);
    else events.on('record.failed').subscribe({ next: counted });
    await emit(1, 2);
    expect(calls).toBe(2);
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain('RangeError');
    expect(warnings[0]).not.toContain('4111');
  });

  it('after an operator that throws is named in a warning, and the process keeps running', async () => {
    events.on('record.failed').pipe(map(fail)).subscribe();
    await emit(1);
    await runtime.advance(100);
    expect(warnings).toHaveLength(1);
  });

  it('gets the error of an operator if it has an error callback', async () => {
    events
      .on('record.failed')
      .pipe(map(fail))
      .subscribe({ error: (error) => seen.push(error) });
    await emit(1);
    expect([seen, warnings]).toEqual([[expect.any(RangeError)], []]);
  });

  it('can convert an event to JSON, with the offset as text', async () => {
    events.on('record.failed').subscribe((event) => seen.push(JSON.parse(JSON.stringify(event))));
    await emit(17);
    const record = { topic: 'orders', partition: 0, offset: '17' };
    expect(seen).toMatchObject([{ name: 'record.failed', record, origin: record }]);
  });
});
