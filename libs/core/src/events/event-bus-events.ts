import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { Observable } from 'rxjs';
import {
  EVENT_BUS_EVENT_NAMES,
  type EventBusEvent,
  type EventBusEventName,
} from '../model/events/event-bus-events.js';
import type { EventHub } from './event-hub.js';
import { GuardedObservable } from './guarded-observable.js';
import { ListenerProblems } from './listener-problems.js';

/** What happens in the bus, as observables. Inject it to log, count, alert or forward. */
export class EventBusEvents {
  /** Every event of the bus. */
  readonly all$: Observable<EventBusEvent>;
  readonly #hub: EventHub;
  readonly #problems: ListenerProblems;

  constructor(
    hub: EventHub,
    runtime: Pick<Runtime, 'monotonic' | 'setTimer'>,
    logger: DriverLogger,
  ) {
    this.#hub = hub;
    this.#problems = new ListenerProblems('a subscriber of EventBusEvents', runtime, logger);
    this.all$ = this.on(...EVENT_BUS_EVENT_NAMES);
  }

  /**
   * Returns the events with these names. They arrive in their order, outside of the work on records.
   * A subscriber of this observable, or of what `pipe` makes of it, may throw: a warning is logged,
   * and the process keeps running. This is not so for an observable that rxjs makes of several, as
   * with `merge`: rxjs throws the error of its subscriber again, which can end the process. Use
   * `@OnEventBus` where a listener may throw.
   */
  on<Name extends EventBusEventName>(...names: readonly Name[]): Observable<EventBusEvent<Name>> {
    const report = (error: unknown): void => this.#problems.threw(names.join(', '), error);
    return new GuardedObservable<EventBusEvent<Name>>(report, (subscriber) =>
      this.#hub.subscribe(names, {
        origin: 'a subscriber of EventBusEvents',
        handle: (event) => subscriber.next(event as EventBusEvent<Name>),
      }),
    );
  }
}
