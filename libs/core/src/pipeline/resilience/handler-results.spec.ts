import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { of } from 'rxjs';
import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import { ErrorResultException, RetryableResultException } from '../../errors/result-errors.js';
import { ConsumerResult } from '../../model/outcomes/consumer-result.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import {
  bindingOf,
  deliveryOf,
  handler,
  now,
  processorOf,
  recordingLogger,
  retryOf,
} from '../pipeline.spec-support.js';
import { CircuitBreakerConfigFactory } from './circuit-breaker-config-factory.js';
import { SlidingCircuitBreaker } from './sliding-circuit-breaker.js';

function worldOf(handle: (call: number) => unknown) {
  const runtime = new VirtualRuntime();
  const logger = recordingLogger();
  const binding = bindingOf({
    retry: retryOf(),
    circuitBreaker: { ...EVENTBUS_DEFAULTS.binding.circuitBreaker, enabled: true },
  });
  const breaker = new SlidingCircuitBreaker(
    new CircuitBreakerConfigFactory().create(binding)!,
    runtime,
    logger,
  );
  let calls = 0;
  const call = handler(() => handle(++calls));
  const processor = processorOf([call], { binding, breaker, runtime, logger });
  const process = async (): Promise<Outcome> => {
    const outcome = Promise.resolve(
      processor.process({ ...deliveryOf(), receivedAt: runtime.now() }),
    );
    await runtime.advance(10_000);
    return outcome;
  };
  return { process, processor, breaker, calls: () => calls };
}

const retryable = ConsumerResult.retryable('the order is locked', { cause: new Error('lock') });
const error = ConsumerResult.error('no such customer');

describe('A result that a handler returns instead of throwing', () => {
  it.each<[string, () => unknown]>([
    ['at once', () => retryable],
    ['later', () => Promise.resolve(retryable)],
    ['as an Observable', () => of(retryable)],
  ])('RetryableResult, %s: causes another call, and counts as one failure', async (_, handle) => {
    const { process, breaker, calls } = worldOf(handle);
    const outcome = await process();
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { message: 'the order is locked', cause: { message: 'lock' } },
      attempts: 3,
      reason: 'retry-exhausted',
    });
    expect(outcome.kind === 'failed' && outcome.error).toBeInstanceOf(RetryableResultException);
    expect(calls()).toBe(3);
    expect(breaker.figures).toMatchObject({ calls: 1, failures: 1 });
  });

  it.each<[string, () => unknown]>([
    ['at once', () => error],
    ['later', () => Promise.resolve(error)],
  ])('ErrorResult, %s: ends the calls, and the circuit does not count it', async (_, handle) => {
    const { process, breaker, calls } = worldOf(handle);
    const outcome = await process();
    expect(outcome).toMatchObject({
      kind: 'failed',
      error: { message: 'no such customer' },
      reason: 'bad-message',
    });
    expect(outcome.kind === 'failed' && outcome.error).toBeInstanceOf(ErrorResultException);
    expect(calls()).toBe(1);
    expect(breaker.figures.calls).toBe(0);
  });

  it('may differ in a further call', async () => {
    const better = worldOf((call) => (call === 1 ? retryable : ConsumerResult.success()));
    expect(await better.process()).toEqual({ kind: 'succeeded' });
    const worse = worldOf((call) => (call === 1 ? retryable : error));
    expect(await worse.process()).toMatchObject({ attempts: 2, reason: 'bad-message' });
  });

  it.each([ConsumerResult.success(), undefined, { kind: 'error' }, 'error'])(
    '%j means success, without a promise',
    (result) => {
      const { processor } = worldOf(() => result);
      expect(now(processor.process(deliveryOf()))).toEqual({ kind: 'succeeded' });
    },
  );
});
