import { Deferred } from '@nest-event-bus/broker/runtime';
import {
  HandlerRefusedException,
  PayloadValidationException,
} from '../../errors/handler-errors.js';
import { deliveryOf } from '../pipeline.spec-support.js';
import {
  bindingUnderTest,
  boom,
  failing,
  failingTimes,
  type Handle,
  type Given,
} from './resilience.spec-support.js';

describe('The circuit breaker around the retries', () => {
  const circuit = { slidingWindowSize: 2, minimumNumberOfCalls: 2, automaticPauseOnOpen: true };

  it('counts an exhausted retry as one failure', async () => {
    const { process, breaker, calls } = bindingUnderTest(failing, { circuit });
    await process();
    expect(calls).toHaveLength(3);
    expect(breaker.figures).toEqual({ calls: 1, failures: 1, slow: 0 });
  });

  it('counts a success after failed calls as one success', async () => {
    const { process, breaker } = bindingUnderTest(failingTimes(2), { circuit });
    await process();
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 0 });
  });

  it('counts the waits between calls towards circuitBreaker.slowCallDurationMs', async () => {
    const slow = { ...circuit, slowCallDurationMs: 299 };
    const { process, breaker } = bindingUnderTest(failingTimes(2), { circuit: slow });
    await process();
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 1 });
    const limit = bindingUnderTest(failingTimes(2), {
      circuit: { ...circuit, slowCallDurationMs: 300 },
    });
    await limit.process();
    expect(limit.breaker.figures.slow).toBe(0);
  });

  it('counts a slow success of an asynchronous handler', async () => {
    const taking: Handle = () =>
      new Promise<void>((resolve) => void binding.runtime.setTimer(resolve, 6_000));
    const binding = bindingUnderTest(taking, { circuit });
    await binding.process();
    expect(binding.breaker.figures).toEqual({ calls: 1, failures: 0, slow: 1 });
  });

  it('when open, hands the record back without a call, a used retry or a count', async () => {
    const { begin, runtime, calls, breaker, outcomes } = bindingUnderTest(failing, { circuit });
    begin();
    begin();
    await runtime.advance(300);
    expect(breaker.state).toBe('OPEN');
    outcomes.length = 0;
    begin();
    await runtime.settle();
    expect(outcomes).toEqual([{ kind: 'handed-back', delayMs: 500 }]);
    expect(calls).toHaveLength(6);
  });

  it('when open without automaticPauseOnOpen, fails the record with an error that says why', async () => {
    const { begin, runtime, outcomes, calls } = bindingUnderTest(failing, {
      circuit: { ...circuit, automaticPauseOnOpen: false },
    });
    begin();
    begin();
    await runtime.advance(300);
    outcomes.length = 0;
    begin();
    await runtime.settle();
    expect(outcomes).toMatchObject([
      {
        kind: 'failed',
        attempts: 0,
        reason: 'circuit-open',
        error: { code: 'CIRCUIT_BREAKER_OPEN', binding: 'orders', retriable: true },
      },
    ]);
    expect(calls).toHaveLength(6);
  });

  it('when half open, hands back the records beyond the permitted calls', async () => {
    const answer = new Deferred();
    let isDown = true;
    const { begin, runtime, outcomes, breaker, calls } = bindingUnderTest(
      () => (isDown ? Promise.reject(boom) : answer.promise),
      {
        circuit: { ...circuit, permittedNumberOfCallsInHalfOpenState: 2 },
        tier0: { maxAttempts: 1 },
      },
    );
    begin();
    begin();
    await runtime.advance(60_000);
    expect(breaker.state).toBe('HALF_OPEN');
    isDown = false;
    outcomes.length = calls.length = 0;
    begin();
    begin();
    begin();
    await runtime.settle();
    expect(outcomes).toEqual([{ kind: 'handed-back', delayMs: 500 }]);
    expect(calls).toHaveLength(2);
    answer.resolve();
    await runtime.settle();
    expect(breaker.state).toBe('CLOSED');
  });

  it('removes the backoff of a record that fails while the circuit is not closed', async () => {
    const { begin, runtime, outcomes } = bindingUnderTest(failing, {
      circuit,
      tier0: { maxAttempts: 1 },
    });
    for (let times = 0; times < 2; times++) {
      begin();
      await runtime.settle();
    }
    expect(outcomes[0]).not.toHaveProperty('delayMs');
    expect(outcomes[1]).toMatchObject({ kind: 'failed', attempts: 1, delayMs: 0 });
    await runtime.advance(60_000);
    begin();
    await runtime.settle();
    expect(outcomes[2]).toMatchObject({ kind: 'failed', delayMs: 0 });
  });

  it('keeps the ordinary backoff without automaticPauseOnOpen', async () => {
    const open = { ...circuit, automaticPauseOnOpen: false };
    const { begin, runtime, outcomes } = bindingUnderTest(failing, { circuit: open });
    begin();
    begin();
    await runtime.advance(300);
    for (const outcome of outcomes) expect(outcome).not.toHaveProperty('delayMs');
  });

  it.each<[string, Given, Error]>([
    ['bad messages', {}, new PayloadValidationException('bad', [])],
    ['those that are named as bad', { nonRetryable: [TypeError] }, new TypeError()],
    ['refusals of a guard', {}, new HandlerRefusedException('no')],
  ])('is never opened by %s', async (_what, given, error) => {
    const { process, breaker } = bindingUnderTest(
      () => {
        throw error;
      },
      { ...given, circuit },
    );
    for (let times = 0; times < 5; times++) await process();
    expect(breaker.figures.calls).toBe(0);
    expect(breaker.state).toBe('CLOSED');
  });

  it('counts an error outside the whitelist, because a dependency may be down', async () => {
    const { process, breaker } = bindingUnderTest(failing, { circuit, retryable: [TypeError] });
    await process();
    expect(breaker.figures.failures).toBe(1);
  });

  it('does not count a record that cannot be prepared', async () => {
    const { processor, breaker } = bindingUnderTest(failing, { circuit });
    const outcome = await processor.process(deliveryOf({ value: Buffer.from('{') }));
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'DESERIALIZATION' } });
    expect(outcome).toMatchObject({ reason: 'not-called', attempts: 1 });
    expect(breaker.figures.calls).toBe(0);
  });

  it('does not count a cancelled wait', async () => {
    const waiting = new AbortController();
    const { begin, runtime, breaker } = bindingUnderTest(failing, { circuit });
    begin({ waitSignal: waiting.signal });
    await runtime.advance(50);
    waiting.abort(boom);
    await runtime.settle();
    expect(breaker.figures.calls).toBe(0);
  });
});
