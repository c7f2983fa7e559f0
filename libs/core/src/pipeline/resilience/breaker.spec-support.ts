import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import type { CircuitTransition } from '../../model/states/circuit-breaker.js';
import { bindingOf, recordingLogger } from '../pipeline.spec-support.js';
import {
  CircuitBreakerConfigFactory,
  type CircuitBreakerConfig,
} from './circuit-breaker-config-factory.js';
import { REFUSED, SlidingCircuitBreaker, type CallResult } from './sliding-circuit-breaker.js';

const defaults = EVENTBUS_DEFAULTS.binding.circuitBreaker;

export function configOf(change: Partial<typeof defaults> | object = {}): CircuitBreakerConfig {
  const circuitBreaker = { ...defaults, enabled: true, ...change };
  return new CircuitBreakerConfigFactory().create(bindingOf({ circuitBreaker }))!;
}

export function breakerWith(change: object = {}) {
  const runtime = new VirtualRuntime();
  const logger = recordingLogger();
  const breaker = new SlidingCircuitBreaker(configOf(change), runtime, logger);
  const transitions: CircuitTransition[] = [];
  breaker.onTransition((transition) => transitions.push(transition));
  /** Makes one call per letter: s succeeded, f failed, S and F the same slowly, i ignored. Returns the state after each. */
  const calls = (results: string): string =>
    Array.from(results)
      .map((result) => {
        const permit = breaker.admit();
        if (permit !== REFUSED) breaker.settle(permit, ...resultOf(result));
        return permit === REFUSED ? '-' : breaker.state[0];
      })
      .join('');
  return { breaker, runtime, logger, transitions, calls };
}

export function resultOf(letter: string): [CallResult, number] {
  const results: Readonly<Record<string, CallResult>> = {
    s: 'succeeded',
    f: 'failed',
    i: 'ignored',
  };
  return [
    results[letter.toLowerCase()] ?? 'ignored',
    letter === letter.toUpperCase() ? 5_001 : 5_000,
  ];
}

/** Settings that are small enough to follow a test by hand. */
export const SMALL = {
  slidingWindowSize: 4,
  minimumNumberOfCalls: 4,
  permittedNumberOfCallsInHalfOpenState: 2,
};
