import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import { BatchProcessingException } from '../../errors/handler-errors.js';
import { ConsumerResult } from '../../model/outcomes/consumer-result.js';
import {
  batchHandler,
  bindingOf,
  deliveryOf,
  processorOf,
  recordingLogger,
  retryOf,
  Unlucky,
} from '../pipeline.spec-support.js';
import { CircuitBreakerConfigFactory } from './circuit-breaker-config-factory.js';
import { SlidingCircuitBreaker } from './sliding-circuit-breaker.js';
import { boom } from './resilience.spec-support.js';

describe('ResilienceDecorator, for a batch handler', () => {
  const circuit = {
    ...EVENTBUS_DEFAULTS.binding.circuitBreaker,
    enabled: true,
    slidingWindowSize: 2,
    minimumNumberOfCalls: 2,
  };
  const batchUnderTest = (handle: () => unknown, tier0: Parameters<typeof retryOf>[0] = {}) => {
    const runtime = new Unlucky();
    const logger = recordingLogger();
    const binding = bindingOf({ retry: retryOf(tier0), circuitBreaker: circuit });
    const config = new CircuitBreakerConfigFactory().create(binding)!;
    const breaker = new SlidingCircuitBreaker(config, runtime, logger);
    const processor = processorOf([batchHandler(handle)], { binding, breaker, runtime, logger });
    const three = [0, 1, 2].map((offset) => deliveryOf({ offset }));
    const process = async (signal = new AbortController().signal) =>
      processor.processSlice!(three.map((delivery) => ({ ...delivery, signal })));
    return { breaker, process };
  };
  const stopped = new BatchProcessingException(1, 'second');

  it('makes one call per delivery, and redelivers the slice from the failed record on', async () => {
    const { process, breaker } = batchUnderTest(() => Promise.reject(stopped));
    expect(await process()).toEqual([
      { kind: 'succeeded' },
      { kind: 'failed', error: stopped, attempts: 1, reason: 'redeliver', delayMs: 100 },
      { kind: 'handed-back' },
    ]);
    expect(breaker.figures).toEqual({ calls: 1, failures: 1, slow: 0 });
  });

  it('hands the records back if the handler throws because the delivery was cancelled', async () => {
    const { process, breaker } = batchUnderTest(() => Promise.reject(boom));
    const handedBack = { kind: 'handed-back' };
    expect(await process(AbortSignal.abort())).toEqual([handedBack, handedBack, handedBack]);
    expect(breaker.figures.calls).toBe(0);
  });

  it('redelivers the slice until maxAttempts is reached', async () => {
    const { process } = batchUnderTest(() => Promise.reject(stopped), { maxAttempts: 1 });
    expect((await process())[1]).toMatchObject({ reason: 'retry-exhausted' });
  });

  const bad = ConsumerResult.error('bad');

  it.each([
    ['a bad message first', [bad, ConsumerResult.retryable('boom'), undefined], 1],
    ['bad messages only', [bad, bad, undefined], 0],
  ])(
    'tells the circuit breaker the failure that it counts, whichever record failed first: %s',
    async (_, results, failures) => {
      const { process, breaker } = batchUnderTest(() => results);
      void (await process());
      expect(breaker.figures.failures).toBe(failures);
    },
  );

  it('counts a slice as one call of the circuit breaker, and makes no call while that is open', async () => {
    let calls = 0;
    let isDown = false;
    const { process, breaker } = batchUnderTest(() => {
      calls++;
      if (isDown) throw boom;
    });
    void (await process());
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 0 });
    isDown = true;
    void (await process());
    expect(breaker.state).toBe('OPEN');
    const handedBack = { kind: 'handed-back' };
    expect(await process()).toEqual([{ ...handedBack, delayMs: 500 }, handedBack, handedBack]);
    expect(calls).toBe(2);
  });
});
