import { Deferred } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import type { ErrorMatcher } from '../../config/error-matching/error-matcher.js';
import {
  BatchProcessingException,
  HandlerRefusedException,
  PayloadValidationException,
} from '../../errors/handler-errors.js';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import { ConsumerResult } from '../../model/outcomes/consumer-result.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import {
  batchHandler,
  bindingOf,
  deliveryOf,
  errorOf,
  handler,
  processorOf,
  recordingLogger,
  retryOf,
  Unlucky,
} from '../pipeline.spec-support.js';
import { CircuitBreakerConfigFactory } from './circuit-breaker-config-factory.js';
import { SlidingCircuitBreaker } from './sliding-circuit-breaker.js';

interface Given {
  readonly tier0?: Parameters<typeof retryOf>[0];
  readonly mode?: 'in-line' | 'seek';
  readonly retryable?: readonly ErrorMatcher[];
  readonly nonRetryable?: readonly ErrorMatcher[];
  readonly maxPollIntervalMs?: number;
  /** With a breaker. */
  readonly circuit?: object;
}

type Handle = (context: EventContext, record: EventRecord) => unknown;

/** One binding in virtual time, and when its handler was called. */
function worldOf(handle: Handle, given: Given = {}) {
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
  /** Begins with the record; its outcome will be in `outcomes`. */
  const begin = (delivery: Partial<Delivery> = {}): void => {
    const { record, redeliveries, sessionIndex } = deliveryOf({ value: { ids: [1, 2] } });
    const whole = {
      record,
      redeliveries,
      sessionIndex,
      receivedAt: runtime.now(),
      signal: new AbortController().signal,
      ...delivery,
    };
    void Promise.resolve(processor.process(whole)).then((outcome) => outcomes.push(outcome));
  };
  /** Lets all waits go by. */
  const process = async (delivery: Partial<Delivery> = {}): Promise<Outcome> => {
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

const boom = new Error('boom');
const failing: Handle = () => {
  throw boom;
};
const failingTimes = (times: number): Handle => {
  let left = times;
  return () => {
    if (left-- > 0) throw boom;
  };
};

describe('ResilienceDecorator, after a success', () => {
  it('creates no promise, no signal and no timer for a synchronous handler, with all features on', () => {
    const { processor, runtime, breaker } = worldOf(() => undefined, { circuit: {} });
    const made = jest.spyOn(globalThis, 'AbortController');
    const delivery = deliveryOf();
    expect(processor.process(delivery)).toEqual({ kind: 'succeeded' });
    expect(made).not.toHaveBeenCalled();
    made.mockRestore();
    expect(runtime.pendingTimers).toBe(0);
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 0 });
  });

  it('returns success after failed calls, and numbers the calls', async () => {
    const { process, calls, attempts } = worldOf(failingTimes(2));
    expect(await process({ redeliveries: 4, failures: 1, calls: 3 })).toEqual({
      kind: 'succeeded',
    });
    expect(calls).toEqual([0, 100, 300]);
    expect(attempts).toEqual([
      { call: 1, delivery: 2, tier: 0, total: 4 },
      { call: 2, delivery: 2, tier: 0, total: 5 },
      { call: 3, delivery: 2, tier: 0, total: 6 },
    ]);
  });
});

describe('ResilienceDecorator, after a failed call', () => {
  it('calls the handler up to maxAttempts times in all, with the waits of the backoff', async () => {
    const { process, calls } = worldOf(failing, {
      tier0: { maxAttempts: 5, initialBackoffMs: 10, multiplier: 3, maxBackoffMs: 200 },
    });
    expect(await process()).toEqual({
      kind: 'failed',
      error: boom,
      attempts: 5,
      failedSince: expect.any(Number),
      ending: 'exhausted',
    });
    expect(calls).toEqual([0, 10, 40, 130, 330]);
  });

  it('repeats the call of a handler that rejects', async () => {
    const { process, calls } = worldOf(() => Promise.reject(boom));
    expect(await process()).toMatchObject({ error: boom, attempts: 3, ending: 'exhausted' });
    expect(calls).toEqual([0, 100, 300]);
  });

  it('repeats the call of a handler that returns a thenable of another library', async () => {
    const rejecting = {
      // oxlint-disable-next-line unicorn/no-thenable -- that is what is to be met
      then(_: unknown, reject: (error: unknown) => void): void {
        reject(boom);
      },
    };
    const { process, calls } = worldOf(() => rejecting, { circuit: {} });
    expect(await process()).toMatchObject({ error: boom, attempts: 3, ending: 'exhausted' });
    expect(calls).toEqual([0, 100, 300]);
  });

  it('returns the last error', async () => {
    let number = 0;
    const { process } = worldOf(() => {
      throw new Error(`failure ${++number}`);
    });
    expect(errorOf(await process()).message).toBe('failure 3');
  });

  it('reports if the calls failed in different ways', async () => {
    const failingWith = (...errors: readonly unknown[]) => {
      const left = [...errors];
      return worldOf(() => {
        throw left.shift();
      }).process();
    };
    const alike = await failingWith(new Error('a'), new Error('a'), new Error('a'));
    expect(alike).not.toHaveProperty('hasVaried');
    const ways = [
      [new Error('a'), new Error('b'), new Error('a')],
      [new Error('a'), new Error('a'), new TypeError('a')],
      ['a', 'a', 'b'],
    ];
    for (const errors of ways)
      expect(await failingWith(...errors)).toMatchObject({ attempts: 3, hasVaried: true });
    const broken = (): Error =>
      Object.defineProperty(new Error(), 'message', {
        get: () => {
          throw new Error('a broken getter');
        },
      });
    const outcome = await failingWith(broken(), broken(), broken());
    expect(outcome).toMatchObject({ attempts: 3, ending: 'exhausted' });
  });

  it('passes the original value to each call, even if an earlier call changed it', async () => {
    const seen: unknown[] = [];
    const { process } = worldOf((_context, { value }) => {
      const { ids } = value as { ids: number[] };
      seen.push([...ids]);
      ids.pop();
      throw boom;
    });
    await process();
    expect(seen).toEqual([
      [1, 2],
      [1, 2],
      [1, 2],
    ]);
  });

  it('forgets that an earlier call handed the record back', async () => {
    let number = 0;
    const { process } = worldOf((context) => {
      if (++number > 1) return;
      context.handBack();
      throw boom;
    });
    expect(await process()).toEqual({ kind: 'succeeded' });
  });

  it('hands the record back if a later call does so', async () => {
    let number = 0;
    const { process, breaker } = worldOf(
      (context) => {
        if (++number === 1) throw boom;
        context.handBack({ delayMs: 5 });
      },
      { circuit: {} },
    );
    expect(await process()).toEqual({ kind: 'handed-back', delayMs: 5 });
    expect(breaker.figures.calls).toBe(0);
  });

  it.each<[number, string, (context: EventContext) => void, object]>([
    [1, 'acknowledged', (context) => context.acknowledge(), { kind: 'discarded' }],
    [2, 'acknowledged', (context) => context.acknowledge(), { kind: 'discarded' }],
    [1, 'given up', (context) => context.deadLetter(), { ending: 'given-up', attempts: 1 }],
    [2, 'given up', (context) => context.deadLetter(), { ending: 'given-up', attempts: 2 }],
  ])(
    'makes no further call after call %i has %s its record, and the circuit does not count that',
    async (last, _word, say, expected) => {
      let number = 0;
      const { process, calls, breaker } = worldOf(
        (context) => {
          if (++number === last) say(context);
          throw boom;
        },
        { circuit: {} },
      );
      expect(await process()).toMatchObject(expected);
      expect(calls).toHaveLength(last);
      expect(breaker.figures.calls).toBe(0);
    },
  );

  it.each<[string, Given, Error, string]>([
    ['the message is bad', {}, new PayloadValidationException('bad', []), 'permanent'],
    ['the rules say so', {}, Object.assign(new Error(), { code: '23505' }), 'permanent'],
    ['it is named as not retryable', { nonRetryable: ['TypeError'] }, new TypeError(), 'permanent'],
    ['it is outside the whitelist', { retryable: [RangeError] }, new TypeError(), 'not-retried'],
    ['a guard refuses', {}, new HandlerRefusedException('no'), 'not-retried'],
    ['one call is all there is', { tier0: { maxAttempts: 1 } }, boom, 'exhausted'],
  ])('makes no further call when %s', async (_why, given, error, ending) => {
    const { process, calls } = worldOf(() => {
      throw error;
    }, given);
    expect(await process()).toEqual({ kind: 'failed', error, attempts: 1, ending });
    expect(calls).toEqual([0]);
  });

  it('makes no further call after 70 % of maxPollIntervalMs', async () => {
    const { process, calls, runtime } = worldOf(failing, {
      tier0: { maxAttempts: 9 },
      maxPollIntervalMs: 1_000,
    });
    const polledAt = { receivedAt: runtime.now() - 300 };
    expect(await process(polledAt)).toMatchObject({
      attempts: 3,
      ending: 'over-budget',
      error: boom,
    });
    expect(calls).toEqual([0, 100, 300]);
  });

  it('counts the time of the calls in that limit', async () => {
    const slowly: Handle = () =>
      new Promise((_, reject) => void world.runtime.setTimer(() => reject(boom), 250));
    const world = worldOf(slowly, { tier0: { maxAttempts: 9 }, maxPollIntervalMs: 1_000 });
    expect(await world.process()).toMatchObject({ attempts: 2, ending: 'over-budget' });
  });
});

describe("ResilienceDecorator, with retry.mode 'seek'", () => {
  it.each([
    [0, { ending: 'delivered-again', delayMs: 100 }],
    [1, { ending: 'delivered-again', delayMs: 200 }],
    [2, { ending: 'exhausted' }],
  ])('makes one call per delivery, after %i failures', async (failures, rest) => {
    const { process, calls } = worldOf(failing, { mode: 'seek' });
    const outcome = await process({ redeliveries: failures + 7, failures });
    expect(outcome).toEqual({ kind: 'failed', error: boom, attempts: 1, ...rest });
    expect(calls).toHaveLength(1);
  });
});

describe('The wait between calls', () => {
  const revoked = new Error('revoked');

  it('ends at once when the delivery is cancelled: the record is handed back, without another call', async () => {
    const waiting = new AbortController();
    const { begin, runtime, calls, outcomes } = worldOf(failing);
    begin({ waitSignal: waiting.signal });
    await runtime.advance(250);
    expect(calls).toEqual([0, 100]);
    waiting.abort(revoked);
    await runtime.settle();
    expect(outcomes).toEqual([{ kind: 'handed-back' }]);
    expect(runtime.pendingTimers).toBe(0);
    await runtime.advance(10_000);
    expect(calls).toHaveLength(2);
  });

  it('does not begin if the delivery was cancelled while the handler ran', async () => {
    const waiting = new AbortController();
    const running = new Deferred();
    const { begin, runtime, outcomes } = worldOf(() => running.promise);
    begin({ waitSignal: waiting.signal });
    waiting.abort(revoked);
    running.reject(boom);
    await runtime.settle();
    expect(outcomes).toEqual([{ kind: 'handed-back' }]);
  });

  it('is not needed: the failure of the last call counts, even if the delivery was cancelled', async () => {
    const waiting = new AbortController();
    waiting.abort(revoked);
    const { process } = worldOf(failing, { tier0: { maxAttempts: 1 } });
    expect(await process({ waitSignal: waiting.signal })).toMatchObject({ ending: 'exhausted' });
  });

  it('is followed by no call if the delivery is cancelled in the moment the wait ends', async () => {
    const waiting = new AbortController();
    const { begin, runtime, calls, outcomes } = worldOf(failing);
    const setTimer = runtime.setTimer.bind(runtime);
    jest.spyOn(runtime, 'setTimer').mockImplementation((ring, delayMs) =>
      setTimer(() => {
        ring();
        waiting.abort(revoked);
      }, delayMs),
    );
    begin({ waitSignal: waiting.signal });
    await runtime.advance(10_000);
    expect(calls).toEqual([0]);
    expect(outcomes).toEqual([{ kind: 'handed-back' }]);
  });

  it('is followed by no call if the delivery is cancelled while the record is prepared', async () => {
    const runtime = new Unlucky();
    const logger = recordingLogger();
    const binding = bindingOf({ retry: retryOf() });
    const second = new Deferred<number>();
    const prepared = [Promise.resolve(1), second.promise];
    let calls = 0;
    const processor = processorOf(
      [
        handler(() => {
          calls++;
          throw boom;
        }),
      ],
      {
        binding,
        runtime,
        logger,
        deserializer: { name: 'slow', deserialize: () => prepared.shift() },
      },
    );
    const waiting = new AbortController();
    const outcome = processor.process({
      ...deliveryOf(),
      receivedAt: runtime.now(),
      signal: new AbortController().signal,
      waitSignal: waiting.signal,
    });
    await runtime.advance(100);
    waiting.abort(revoked);
    second.resolve(2);
    expect(await outcome).toEqual({ kind: 'handed-back' });
    expect(calls).toBe(1);
  });

  it('keeps the number of calls if the record cannot be prepared for another one', async () => {
    const runtime = new Unlucky();
    const logger = recordingLogger();
    const binding = bindingOf({ retry: retryOf() });
    const outage = new SchemaRegistryUnavailableException('down');
    const values = [1, 2];
    const deserialize = (): unknown => {
      if (values.length === 0) throw outage;
      return values.shift();
    };
    const processor = processorOf([handler(() => Promise.reject(boom))], {
      binding,
      runtime,
      logger,
      deserializer: { name: 'registered', deserialize },
    });
    const outcome = processor.process({
      ...deliveryOf(),
      receivedAt: runtime.now(),
      signal: new AbortController().signal,
    });
    await runtime.advance(1_000);
    expect(await outcome).toMatchObject({ error: outage, attempts: 2, ending: 'delivered-again' });
  });

  it('uses the work signal if there is no wait signal', async () => {
    const work = new AbortController();
    const { begin, runtime, outcomes } = worldOf(failing);
    begin({ signal: work.signal });
    await runtime.advance(50);
    work.abort(revoked);
    await runtime.settle();
    expect(outcomes).toEqual([{ kind: 'handed-back' }]);
  });

  it('are left out, and nothing fails, if the handler throws because its work was cancelled', async () => {
    const work = new AbortController();
    work.abort(revoked);
    const { process, breaker } = worldOf(failing, { tier0: { maxAttempts: 1 }, circuit: {} });
    expect(await process({ signal: work.signal })).toEqual({ kind: 'handed-back' });
    expect(breaker.figures.calls).toBe(0);
  });
});

describe('The circuit breaker around the retries', () => {
  const circuit = { slidingWindowSize: 2, minimumNumberOfCalls: 2, automaticPauseOnOpen: true };

  it('counts an exhausted retry as one failure', async () => {
    const { process, breaker, calls } = worldOf(failing, { circuit });
    await process();
    expect(calls).toHaveLength(3);
    expect(breaker.figures).toEqual({ calls: 1, failures: 1, slow: 0 });
  });

  it('counts a success after failed calls as one success', async () => {
    const { process, breaker } = worldOf(failingTimes(2), { circuit });
    await process();
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 0 });
  });

  it('counts the waits between calls as time of the call', async () => {
    const slow = { ...circuit, slowCallDurationMs: 299 };
    const { process, breaker } = worldOf(failingTimes(2), { circuit: slow });
    await process();
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 1 });
    const limit = worldOf(failingTimes(2), { circuit: { ...circuit, slowCallDurationMs: 300 } });
    await limit.process();
    expect(limit.breaker.figures.slow).toBe(0);
  });

  it('counts a slow success of an asynchronous handler', async () => {
    const taking: Handle = () =>
      new Promise<void>((resolve) => void world.runtime.setTimer(resolve, 6_000));
    const world = worldOf(taking, { circuit });
    await world.process();
    expect(world.breaker.figures).toEqual({ calls: 1, failures: 0, slow: 1 });
  });

  it('when open, hands the record back without a call, a used retry or a count', async () => {
    const { begin, runtime, calls, breaker, outcomes } = worldOf(failing, { circuit });
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
    const { begin, runtime, outcomes, calls } = worldOf(failing, {
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
        ending: 'circuit-open',
        error: { code: 'CIRCUIT_BREAKER_OPEN', binding: 'orders', retriable: true },
      },
    ]);
    expect(calls).toHaveLength(6);
  });

  it('when half open, hands back the records beyond the permitted calls', async () => {
    const answer = new Deferred();
    let isDown = true;
    const { begin, runtime, outcomes, breaker, calls } = worldOf(
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
    const { begin, runtime, outcomes } = worldOf(failing, { circuit, tier0: { maxAttempts: 1 } });
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
    const { begin, runtime, outcomes } = worldOf(failing, { circuit: open });
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
    const { process, breaker } = worldOf(
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
    const { process, breaker } = worldOf(failing, { circuit, retryable: [TypeError] });
    await process();
    expect(breaker.figures.failures).toBe(1);
  });

  it('does not count a record that cannot be prepared', async () => {
    const { processor, breaker } = worldOf(failing, { circuit });
    const outcome = await processor.process(deliveryOf({ value: Buffer.from('{') }));
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'DESERIALIZATION' } });
    expect(outcome).not.toHaveProperty('attempts');
    expect(breaker.figures.calls).toBe(0);
  });

  it('does not count a cancelled wait', async () => {
    const waiting = new AbortController();
    const { begin, runtime, breaker } = worldOf(failing, { circuit });
    begin({ waitSignal: waiting.signal });
    await runtime.advance(50);
    waiting.abort(boom);
    await runtime.settle();
    expect(breaker.figures.calls).toBe(0);
  });
});

describe('ResilienceDecorator, for a batch handler', () => {
  const circuit = {
    ...EVENTBUS_DEFAULTS.binding.circuitBreaker,
    enabled: true,
    slidingWindowSize: 2,
    minimumNumberOfCalls: 2,
  };
  const sliceWorld = (handle: () => unknown, tier0: Parameters<typeof retryOf>[0] = {}) => {
    const runtime = new Unlucky();
    const logger = recordingLogger();
    const binding = bindingOf({ retry: retryOf(tier0), circuitBreaker: circuit });
    const config = new CircuitBreakerConfigFactory().create(binding)!;
    const breaker = new SlidingCircuitBreaker(config, runtime, logger);
    const processor = processorOf([batchHandler(handle)], { binding, breaker, runtime, logger });
    const three = [0, 1, 2].map((offset) =>
      deliveryOf({ offset, redeliveries: offset === 1 ? 1 : 0 }),
    );
    const process = async (signal = new AbortController().signal) =>
      processor.processSlice!(three.map((delivery) => ({ ...delivery, signal })));
    return { breaker, process };
  };
  const stopped = new BatchProcessingException(1, 'second');

  it('makes one call per delivery, and delivers again from the failed record on', async () => {
    const { process, breaker } = sliceWorld(() => Promise.reject(stopped));
    expect(await process()).toEqual([
      { kind: 'succeeded' },
      { kind: 'failed', error: stopped, attempts: 1, ending: 'delivered-again', delayMs: 200 },
      { kind: 'handed-back' },
    ]);
    expect(breaker.figures).toEqual({ calls: 1, failures: 1, slow: 0 });
  });

  it('returns no failure for an error that is thrown because the work was cancelled', async () => {
    const { process, breaker } = sliceWorld(() => Promise.reject(boom));
    const handedBack = { kind: 'handed-back' };
    expect(await process(AbortSignal.abort())).toEqual([handedBack, handedBack, handedBack]);
    expect(breaker.figures.calls).toBe(0);
  });

  it('delivers again until the calls are used up', async () => {
    const { process } = sliceWorld(() => Promise.reject(stopped), { maxAttempts: 2 });
    expect((await process())[1]).toMatchObject({ ending: 'exhausted' });
  });

  const bad = ConsumerResult.error('bad');

  it.each([
    ['a bad message first', [bad, ConsumerResult.retryable('boom'), undefined], 1],
    ['bad messages only', [bad, bad, undefined], 0],
  ])(
    'reports the failure that the circuit counts, whichever record failed first: %s',
    async (_, results, failures) => {
      const { process, breaker } = sliceWorld(() => results);
      await process();
      expect(breaker.figures.failures).toBe(failures);
    },
  );

  it('counts a slice as one call of the circuit, and makes none when it is open', async () => {
    let calls = 0;
    let isDown = false;
    const { process, breaker } = sliceWorld(() => {
      calls++;
      if (isDown) throw boom;
    });
    await process();
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 0 });
    isDown = true;
    await process();
    expect(breaker.state).toBe('OPEN');
    const handedBack = { kind: 'handed-back' };
    expect(await process()).toEqual([{ ...handedBack, delayMs: 500 }, handedBack, handedBack]);
    expect(calls).toBe(2);
  });
});
