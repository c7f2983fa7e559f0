import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { EventBusEvent, EventBusEventName } from '../model/events/event-bus-events.js';
import type { BindingObserver } from '../model/events/event-sink.js';
import { BindingEvents } from './binding-events.js';

const retried: EventBusEventName = 'topic.write-failed';
const details = { topic: 'orders.DLT', exceptionClass: 'SendError' };

let errors: string[];
let emitted: EventBusEvent[];
let wanted: boolean;

beforeEach(() => {
  errors = [];
  emitted = [];
  wanted = true;
});

function eventsOf(...observers: readonly BindingObserver[]): BindingEvents {
  const quiet = (): void => undefined;
  return new BindingEvents({
    binding: { name: 'orders', cluster: 'eu' },
    observers,
    events: { wants: () => wanted, emit: (event) => void emitted.push(event) },
    runtime: new VirtualRuntime({ startAt: 5_000 }),
    logger: { debug: quiet, info: quiet, warn: quiet, error: (text) => void errors.push(text) },
  });
}

describe('BindingEvents', () => {
  it('adds the name, the time and the binding, and freezes the event', () => {
    eventsOf().emit(retried, details);
    expect(emitted).toEqual([
      { name: retried, at: 5_000, binding: 'orders', cluster: 'eu', ...details },
    ]);
    expect(Object.isFrozen(emitted[0])).toBe(true);
  });

  it('passes an event at once to those observers that observe its name', () => {
    const seen: string[] = [];
    const observer = (observes: BindingObserver['observes']): BindingObserver => ({
      observes,
      observe: ({ name }) => void seen.push(name),
    });
    eventsOf(observer([retried]), observer(['record.failed'])).emit(retried, details);
    expect(seen).toEqual([retried]);
  });

  it('makes no event if neither an observer nor a listener wants it', () => {
    wanted = false;
    const events = eventsOf({ observes: ['record.failed'], observe: () => undefined });
    events.emit(retried, details);
    expect(emitted).toEqual([]);
    expect([events.wants(retried), events.wants('record.failed')]).toEqual([false, true]);
  });

  it('never throws because of an observer', () => {
    const observe = (): never => {
      throw new Error('no');
    };
    eventsOf({ observes: [retried], observe }).emit(retried, details);
    expect([emitted.length, errors.length]).toEqual([1, 1]);
  });
});
