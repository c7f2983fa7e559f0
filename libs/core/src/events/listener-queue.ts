import type { DriverLogger } from '@nest-event-bus/broker';
import { sleep, type Runtime } from '@nest-event-bus/broker/runtime';
import type { EventBusEvent } from '../model/events/event-bus-events.js';
import { logContext } from '../logging/mdc-context-propagator.js';
import { ListenerProblems } from './listener-problems.js';

/** A function of the application that takes events. */
export interface EventListener {
  /** Name in messages: `AlertService.onFailed in AppModule`. */
  readonly origin: string;
  /** Called with one event at a time. A promise is awaited before the next event. */
  handle(event: EventBusEvent): unknown;
}

/** Events that wait for a slow listener. Later ones are dropped and counted. */
const MAX_WAITING = 1_000;

/** Time after which the next event is passed although the listener has not answered. */
const CALL_TIMEOUT_MS = 30_000;

/** Calls without an answer after which the listener is not called until one of them answers. */
const MAX_UNANSWERED = 10;

/** Calls in one turn of the event loop, so that a burst of events does not delay records. */
const CALLS_PER_TURN = 100;

/** Passes events to one listener, in their order and outside of the work on records. */
export class ListenerQueue {
  #waiting: EventBusEvent[] = [];
  readonly #problems: ListenerProblems;
  #isScheduled = false;
  #unanswered = 0;
  #isClosed = false;

  constructor(
    private readonly listener: EventListener,
    private readonly runtime: Runtime,
    logger: DriverLogger,
  ) {
    this.#problems = new ListenerProblems(listener.origin, runtime, logger);
  }

  add(event: EventBusEvent): void {
    if (this.#waiting.length >= MAX_WAITING) return this.#problems.dropped();
    this.#waiting.push(event);
    this.#schedule();
  }

  close(): void {
    this.#isClosed = true;
    this.#waiting = [];
    this.#problems.close();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#isClosed) return;
    this.#isScheduled = true;
    // The queue serves many records, so a listener has the log context of none.
    logContext.runOutside(() => this.runtime.defer(() => void this.#passAll()));
  }

  /** Never rejects. */
  async #passAll(): Promise<void> {
    for (let calls = 0; calls < CALLS_PER_TURN && this.#unanswered < MAX_UNANSWERED; calls++) {
      const event = this.#waiting.shift();
      if (!event) break;
      await this.#pass(event);
    }
    this.#isScheduled = false;
    if (this.#waiting.length > 0 && this.#unanswered < MAX_UNANSWERED) this.#schedule();
  }

  async #pass(event: EventBusEvent): Promise<void> {
    try {
      const answer = this.listener.handle(event);
      if (isPromiseLike(answer)) await this.#answered(event, Promise.resolve(answer));
    } catch (error) {
      this.#problems.threw(event.name, error);
    }
  }

  /** Waits for the answer of a listener, but not for ever. */
  async #answered(event: EventBusEvent, answer: Promise<unknown>): Promise<void> {
    const timeout = new AbortController();
    const isLate = sleep(this.runtime, CALL_TIMEOUT_MS, timeout.signal, { background: true }).then(
      () => true,
      () => false,
    );
    const ended = answer.then(
      () => timeout.abort(),
      (error: unknown) => {
        timeout.abort();
        this.#problems.threw(event.name, error);
      },
    );
    if (!(await Promise.race([isLate, ended.then(() => false)]))) return;
    this.#unanswered++;
    this.#problems.hung(event.name, CALL_TIMEOUT_MS);
    void ended.then(() => this.#onLateAnswer());
  }

  #onLateAnswer(): void {
    this.#unanswered--;
    if (this.#waiting.length > 0) this.#schedule();
  }
}

function isPromiseLike(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | null | undefined)?.then === 'function';
}
