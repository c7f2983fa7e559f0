import type { EventEnvelope } from '../model/event-envelope.js';

type MaybePromise<T> = T | Promise<T>;
type BeforeHook = (event: EventEnvelope) => MaybePromise<void>;
type AfterHook = (event: EventEnvelope, error: Error | null) => MaybePromise<void>;

/** Runs around each dispatch. */
export interface EventInterceptor {
  /** Called in the order of registration. An error counts as a failure of the listener. */
  beforeDispatch?(event: EventEnvelope): MaybePromise<void>;
  /**
   * Called in the reverse order, for failures with their error. An error of this method is logged.
   */
  afterDispatch?(event: EventEnvelope, error: Error | null): MaybePromise<void>;
}

export const EventInterceptor = Object.freeze({
  before: (hook: BeforeHook): EventInterceptor => ({ beforeDispatch: hook }),
  after: (hook: AfterHook): EventInterceptor => ({ afterDispatch: hook }),
});
