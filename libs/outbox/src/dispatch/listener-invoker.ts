import { IllegalStateError } from '../errors/argument-errors.js';
import { errorName } from '../errors/describe-error.js';
import { UnroutableEventException } from '../errors/unroutable-event-exception.js';
import type { EventEnvelope } from '../model/event-envelope.js';
import type { DispatchContext } from '../registry/event-listener.js';
import type { ListenerRegistry } from '../registry/listener-registry.js';
import type { OutboxLogger } from '../spi/logger.js';
import type { EventInterceptor } from './event-interceptor.js';

/** Handles many events in one call, and returns the error of each that has failed. */
interface BatchListener {
  onEvents(
    events: readonly EventEnvelope[],
    context?: DispatchContext,
  ): Promise<readonly (Error | undefined)[]>;
}

/** The lease under which a listener is called. */
export interface CallGuard {
  readonly context: DispatchContext;
  /** Throws if the listener must not be called any more. Interceptors may have taken long. */
  check(): void;
}

/** Calls the interceptors and the listener of an event, in their order. */
export class ListenerInvoker {
  constructor(
    private readonly registry: ListenerRegistry,
    private readonly interceptors: readonly EventInterceptor[],
    private readonly logger: OutboxLogger,
  ) {}

  /** Returns the error of the dispatch; null if it succeeded. Never throws. */
  async invoke(event: EventEnvelope, guard?: CallGuard): Promise<Error | null> {
    const error = await this.#dispatch(event, guard).then(() => null, toError);
    await this.#afterDispatch(event, error);
    return error;
  }

  /** Passes events to a batch listener in one call. Returns the error of each event. Never throws. */
  async invokeBatch(
    listener: BatchListener,
    events: readonly EventEnvelope[],
    guard?: CallGuard,
  ): Promise<readonly (Error | null)[]> {
    const refused = await this.#refusedBefore(events);
    const passed = events.filter((event) => !refused.has(event));
    const results = await callBatch(listener, passed, guard);
    const errors = new Map<EventEnvelope, Error | null>(refused);
    passed.forEach((event, index) => errors.set(event, results[index] ?? null));
    for (const [event, error] of errors) await this.#afterDispatch(event, error);
    return events.map((event) => errors.get(event) ?? null);
  }

  /** An event that an interceptor refuses keeps the later events of its key back. */
  async #refusedBefore(events: readonly EventEnvelope[]): Promise<Map<EventEnvelope, Error>> {
    const refused = new Map<EventEnvelope, Error>();
    const keys = new Map<string, Error>();
    for (const event of events) {
      const { orderKey } = event;
      const earlier = orderKey === null ? undefined : keys.get(orderKey);
      const error = earlier ?? (await this.#before(event).then(() => null, toError));
      if (!error) continue;
      refused.set(event, error);
      if (orderKey !== null) keys.set(orderKey, error);
    }
    return refused;
  }

  async #before(event: EventEnvelope): Promise<void> {
    for (const interceptor of this.interceptors) await interceptor.beforeDispatch?.(event);
  }

  async #dispatch(event: EventEnvelope, guard: CallGuard | undefined): Promise<void> {
    await this.#before(event);
    const { eventId, aggregateType, eventType } = event;
    const listener = this.registry.listenerFor(aggregateType, eventType);
    if (!listener) throw new UnroutableEventException(eventId, aggregateType, eventType);
    guard?.check();
    await (guard ? listener.onEvent(event, guard.context) : listener.onEvent(event));
  }

  async #afterDispatch(event: EventEnvelope, error: Error | null): Promise<void> {
    for (const interceptor of [...this.interceptors].reverse())
      try {
        await interceptor.afterDispatch?.(event, error);
      } catch (failure) {
        this.logger.error(
          `An interceptor failed after the dispatch of event ${event.eventId}: ${errorName(failure)}. The result of the dispatch stays as it is.`,
        );
      }
  }
}

async function callBatch(
  listener: BatchListener,
  events: readonly EventEnvelope[],
  guard: CallGuard | undefined,
): Promise<readonly (Error | undefined)[]> {
  if (events.length === 0) return [];
  try {
    guard?.check();
    const results = await listener.onEvents(events, guard?.context);
    if (results.length === events.length) return results;
    throw new IllegalStateError(
      `A batch listener returned ${results.length} results for ${events.length} events. Return one result per event.`,
    );
  } catch (error) {
    return events.map(() => toError(error));
  }
}

const toError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(`A ${typeof thrown} was thrown.`);
