import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import type { ErrorMatcher } from '../../config/error-matching/error-matcher.js';
import { aDelivery, type GivenDelivery } from '../../model/outcomes/outcomes.spec-support.js';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import {
  bindingOf,
  deliveryOf,
  handler,
  processorOf,
  recordingLogger,
  retryOf,
  Unlucky,
} from '../pipeline.spec-support.js';
import { CircuitBreakerConfigFactory } from './circuit-breaker-config-factory.js';
import { SlidingCircuitBreaker } from './sliding-circuit-breaker.js';

export interface Given {
  readonly tier0?: Parameters<typeof retryOf>[0];
  readonly mode?: 'in-line' | 'seek';
  readonly retryable?: readonly ErrorMatcher[];
  readonly nonRetryable?: readonly ErrorMatcher[];
  readonly maxPollIntervalMs?: number;
  /** Settings of the circuit breaker. Without them the binding has none. */
  readonly circuit?: object;
}

export type Handle = (context: EventContext, record: EventRecord) => unknown;

/** Runs one binding in virtual time, and records when its handler was called. */
export function bindingUnderTest(handle: Handle, given: Given = {}) {
  const runtime = new Unlucky();
  const logger = recordingLogger();
  const calls: number[] = [];
  const attempts: unknown[] = [];
  const { tier0, mode = 'in-line', retryable = [], nonRetryable = [], ...rest } = given;
  const binding = bindingOf({
    maxPollIntervalMs: rest.maxPollIntervalMs ?? 600_000,
    retry: retryOf(tier0, {
      mode,
      retryableExceptions: retryable,
      nonRetryableExceptions: nonRetryable,
    }),
    circuitBreaker: {
      ...EVENTBUS_DEFAULTS.binding.circuitBreaker,
      enabled: given.circuit !== undefined,
      ...given.circuit,
    },
  });
  const config = new CircuitBreakerConfigFactory().create(binding);
  const breaker = config && new SlidingCircuitBreaker(config, runtime, logger);
  const call = handler((record: EventRecord, context) => {
    calls.push(runtime.monotonic());
    attempts.push(context.attempt);
    return handle(context, record);
  });
  const processor = processorOf([call], { binding, breaker, runtime, logger });
  const outcomes: Outcome[] = [];
  /** Begins to process a record. Its outcome is added to `outcomes`. */
  const begin = (delivery: GivenDelivery = {}): void => {
    const whole = aDelivery({
      record: deliveryOf({ value: { ids: [1, 2] } }).record,
      receivedAt: runtime.now(),
      readySince: runtime.monotonic(),
      ...delivery,
    });
    void Promise.resolve(processor.process(whole)).then((outcome) => outcomes.push(outcome));
  };
  /** Processes a record, and waits until all its waits are over. */
  const process = async (delivery: GivenDelivery = {}): Promise<Outcome> => {
    begin(delivery);
    await runtime.advance(100_000);
    return outcomes.pop()!;
  };
  return {
    runtime,
    logger,
    calls,
    attempts,
    breaker: breaker!,
    processor,
    begin,
    process,
    outcomes,
  };
}

export const boom = new Error('boom');
export const failing: Handle = () => {
  throw boom;
};
export const failingTimes = (times: number): Handle => {
  let left = times;
  return () => {
    if (left-- > 0) throw boom;
  };
};
