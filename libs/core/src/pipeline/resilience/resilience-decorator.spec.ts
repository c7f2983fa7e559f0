import { Deferred } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import type { ErrorMatcher } from '../../config/error-matching/error-matcher.js';
import {
  BatchProcessingException,
  HandlerRefusedException,
  PayloadValidationException,
} from '../../errors/handler-errors.js';
import { SchemaRegistryUnavailableException } from '../../errors/schema-registry-errors.js';
import {
  aDelivery,
  aFailure,
  type GivenDelivery,
} from '../../model/outcomes/outcomes.spec-support.js';
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
import type { ReadyRecord } from '../dispatch/preparation.js';
import { CircuitBreakerConfigFactory } from './circuit-breaker-config-factory.js';
import { ResilienceDecorator } from './resilience-decorator.js';
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
  const resilience = new ResilienceDecorator({ binding, breaker, runtime, logger });
  const call = handler((record: EventRecord, context) => {
    calls.push(runtime.monotonic());
    attempts.push(context.attempt);
    return handle(context, record);
  });
  const processor = processorOf([call], { binding, resilience, runtime, logger });
  const outcomes: Outcome[] = [];
  /** Begins with the record; its outcome will be in `outcomes`. */
  const begin = (delivery: GivenDelivery = {}): void => {
    const whole = aDelivery({
      record: deliveryOf({ value: { ids: [1, 2] } }).record,
      receivedAt: runtime.now(),
      readySince: runtime.monotonic(),
      ...delivery,
    });
    void Promise.resolve(processor.process(whole)).then((outcome) => outcomes.push(outcome));
  };
  /** Lets all waits go by. */
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

describe('a handler that succeeds', () => {
  it('at once costs no promise, no signal and no timer, with everything on', () => {
    const { processor, runtime, breaker } = worldOf(() => undefined, { circuit: {} });
    const made = jest.spyOn(globalThis, 'AbortController');
    const delivery = deliveryOf();
    expect(processor.process(delivery)).toEqual({ kind: 'succeeded' });
    expect(made).not.toHaveBeenCalled();
    made.mockRestore();
    expect(runtime.pendingTimers).toBe(0);
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 0 });
  });

  it('after failures has succeeded, and each call knows its number', async () => {
    const { process, calls, attempts } = worldOf(failingTimes(2));
    expect(await process({ history: { redeliveries: 4, failures: 1, calls: 3 } })).toEqual({
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

describe('a handler that fails is called again', () => {
  it('as often as maxAttempts says, the first call included, with the waits of the backoff', async () => {
    const { process, calls } = worldOf(failing, {
      tier0: { maxAttempts: 5, initialBackoffMs: 10, multiplier: 3, maxBackoffMs: 200 },
    });
    expect(await process()).toEqual({
      kind: 'failed',
      error: boom,
      attempts: 5,
      firstFailedAt: expect.any(Number),
      reason: 'retry-exhausted',
    });
    expect(calls).toEqual([0, 10, 40, 130, 330]);
  });

  it('and so is one that rejects', async () => {
    const { process, calls } = worldOf(() => Promise.reject(boom));
    expect(await process()).toMatchObject({ error: boom, attempts: 3, reason: 'retry-exhausted' });
    expect(calls).toEqual([0, 100, 300]);
  });

  it("and so is one whose promise is somebody else's, which need not give another one", async () => {
    const rejecting = {
      // oxlint-disable-next-line unicorn/no-thenable -- that is what is to be met
      then(_: unknown, reject: (error: unknown) => void): void {
        reject(boom);
      },
    };
    const { process, calls } = worldOf(() => rejecting, { circuit: {} });
    expect(await process()).toMatchObject({ error: boom, attempts: 3, reason: 'retry-exhausted' });
    expect(calls).toEqual([0, 100, 300]);
  });

  it('with the last error as its outcome', async () => {
    let number = 0;
    const { process } = worldOf(() => {
      throw new Error(`failure ${++number}`);
    });
    expect(errorOf(await process()).message).toBe('failure 3');
  });

  it('and it is told when its calls did not all fail alike', async () => {
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
    expect(outcome).toMatchObject({ attempts: 3, reason: 'retry-exhausted' });
  });

  it('with the value as it was sent, whatever the call before did to it', async () => {
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

  it('and what an earlier call said about handing back is forgotten', async () => {
    let number = 0;
    const { process } = worldOf((context) => {
      if (++number > 1) return;
      context.handBack();
      throw boom;
    });
    expect(await process()).toEqual({ kind: 'succeeded' });
  });

  it('and may hand back then', async () => {
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
    [1, 'given up', (context) => context.deadLetter(), { reason: 'handler-gave-up', attempts: 1 }],
    [2, 'given up', (context) => context.deadLetter(), { reason: 'handler-gave-up', attempts: 2 }],
  ])(
    'but not once call %i has %s its record, and the circuit does not count that',
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
    ['the message is bad', {}, new PayloadValidationException('bad', []), 'bad-message'],
    ['the rules say so', {}, Object.assign(new Error(), { code: '23505' }), 'bad-message'],
    [
      'it is named as not retryable',
      { nonRetryable: ['TypeError'] },
      new TypeError(),
      'bad-message',
    ],
    [
      'it is outside the whitelist',
      { retryable: [RangeError] },
      new TypeError(),
      'retry-exhausted',
    ],
    ['a guard refuses', {}, new HandlerRefusedException('no'), 'retry-exhausted'],
    ['one call is all there is', { tier0: { maxAttempts: 1 } }, boom, 'retry-exhausted'],
  ])('but not when %s', async (_why, given, error, reason) => {
    const { process, calls } = worldOf(() => {
      throw error;
    }, given);
    expect(await process()).toEqual({ kind: 'failed', error, attempts: 1, reason });
    expect(calls).toEqual([0]);
  });

  it('only until 70 % of maxPollIntervalMs are over since the poll', async () => {
    const { process, calls, runtime } = worldOf(failing, {
      tier0: { maxAttempts: 9 },
      maxPollIntervalMs: 1_000,
    });
    const polledAt = { readySince: runtime.monotonic() - 300 };
    expect(await process(polledAt)).toMatchObject({
      attempts: 3,
      reason: 'budget-exceeded',
      error: boom,
    });
    expect(calls).toEqual([0, 100, 300]);
  });

  it('and what the calls themselves take counts in that', async () => {
    const slowly: Handle = () =>
      new Promise((_, reject) => void world.runtime.setTimer(() => reject(boom), 250));
    const world = worldOf(slowly, { tier0: { maxAttempts: 9 }, maxPollIntervalMs: 1_000 });
    expect(await world.process()).toMatchObject({ attempts: 2, reason: 'budget-exceeded' });
  });
});

describe("with mode 'seek' a delivery is one call", () => {
  it.each([
    [0, { reason: 'redeliver', delayMs: 100 }],
    [1, { reason: 'redeliver', delayMs: 200 }],
    [2, { reason: 'retry-exhausted' }],
  ])('after %i failures', async (failures, rest) => {
    const { process, calls } = worldOf(failing, { mode: 'seek' });
    const outcome = await process({ history: { redeliveries: failures + 7, failures } });
    expect(outcome).toEqual({ kind: 'failed', error: boom, attempts: 1, ...rest });
    expect(calls).toHaveLength(1);
  });
});

describe('a wait between calls', () => {
  const revoked = new Error('revoked');

  it('ends at once when it is called off: the record is handed back, and nobody calls again', async () => {
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

  it('does not begin when it was called off while the handler ran', async () => {
    const waiting = new AbortController();
    const running = new Deferred();
    const { begin, runtime, outcomes } = worldOf(() => running.promise);
    begin({ waitSignal: waiting.signal });
    waiting.abort(revoked);
    running.reject(boom);
    await runtime.settle();
    expect(outcomes).toEqual([{ kind: 'handed-back' }]);
  });

  it('is none: the last call that fails is a failure all the same', async () => {
    const waiting = new AbortController();
    waiting.abort(revoked);
    const { process } = worldOf(failing, { tier0: { maxAttempts: 1 } });
    expect(await process({ waitSignal: waiting.signal })).toMatchObject({
      reason: 'retry-exhausted',
    });
  });

  it('called off in the very moment in which it ends, is followed by no call', async () => {
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

  it('called off while the record is prepared for the next call, is followed by no call', async () => {
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
        resilience: new ResilienceDecorator({ binding, runtime, logger }),
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

  it('and the calls before it count although the record cannot be prepared for another', async () => {
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
      resilience: new ResilienceDecorator({ binding, runtime, logger }),
      deserializer: { name: 'registered', deserialize },
    });
    const outcome = processor.process({
      ...deliveryOf(),
      receivedAt: runtime.now(),
      signal: new AbortController().signal,
    });
    await runtime.advance(1_000);
    expect(await outcome).toMatchObject({ error: outage, attempts: 2, reason: 'redeliver' });
  });

  it('listens to the signal of the work where there is no other', async () => {
    const work = new AbortController();
    const { begin, runtime, outcomes } = worldOf(failing);
    begin({ signal: work.signal });
    await runtime.advance(50);
    work.abort(revoked);
    await runtime.settle();
    expect(outcomes).toEqual([{ kind: 'handed-back' }]);
  });

  it('what a handler throws because its work was called off, is no failure', async () => {
    const work = new AbortController();
    work.abort(revoked);
    const { process, breaker } = worldOf(failing, { tier0: { maxAttempts: 1 }, circuit: {} });
    expect(await process({ signal: work.signal })).toEqual({ kind: 'handed-back' });
    expect(breaker.figures.calls).toBe(0);
  });
});

describe('breaker(retry(handler))', () => {
  const circuit = { slidingWindowSize: 2, minimumNumberOfCalls: 2, automaticPauseOnOpen: true };

  it('one exhausted retry is one failure', async () => {
    const { process, breaker, calls } = worldOf(failing, { circuit });
    await process();
    expect(calls).toHaveLength(3);
    expect(breaker.figures).toEqual({ calls: 1, failures: 1, slow: 0 });
  });

  it('a success after failures is one success', async () => {
    const { process, breaker } = worldOf(failingTimes(2), { circuit });
    await process();
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 0 });
  });

  it('the waits count in how slow a call is', async () => {
    const slow = { ...circuit, slowCallDurationMs: 299 };
    const { process, breaker } = worldOf(failingTimes(2), { circuit: slow });
    await process();
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 1 });
    const limit = worldOf(failingTimes(2), { circuit: { ...circuit, slowCallDurationMs: 300 } });
    await limit.process();
    expect(limit.breaker.figures.slow).toBe(0);
  });

  it('so does a slow success of a handler that takes its time', async () => {
    const taking: Handle = () =>
      new Promise<void>((resolve) => void world.runtime.setTimer(resolve, 6_000));
    const world = worldOf(taking, { circuit });
    await world.process();
    expect(world.breaker.figures).toEqual({ calls: 1, failures: 0, slow: 1 });
  });

  it('open: no handler is called, no retry burnt, nothing counted; the record is handed back', async () => {
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

  it('open without automaticPauseOnOpen: the record fails, and the error says why', async () => {
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
        reason: 'circuit-open',
        error: { code: 'CIRCUIT_BREAKER_OPEN', binding: 'orders', retriable: true },
      },
    ]);
    expect(calls).toHaveLength(6);
  });

  it('half open: what is more than permitted is handed back', async () => {
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

  it('a record that fails while it is not closed waits for it, not for a backoff of its own', async () => {
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

  it('without automaticPauseOnOpen the ordinary backoff goes on', async () => {
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
  ])('%s never open it', async (_what, given, error) => {
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

  it('an error outside the whitelist counts: it may well be the world', async () => {
    const { process, breaker } = worldOf(failing, { circuit, retryable: [TypeError] });
    await process();
    expect(breaker.figures.failures).toBe(1);
  });

  it('a record that cannot be prepared never comes to it', async () => {
    const { processor, breaker } = worldOf(failing, { circuit });
    const outcome = await processor.process(deliveryOf({ value: Buffer.from('{') }));
    expect(outcome).toMatchObject({ kind: 'failed', error: { code: 'DESERIALIZATION' } });
    expect(outcome).toMatchObject({ reason: 'not-called', attempts: 1 });
    expect(breaker.figures.calls).toBe(0);
  });

  it('a wait that is called off tells it nothing', async () => {
    const waiting = new AbortController();
    const { begin, runtime, breaker } = worldOf(failing, { circuit });
    begin({ waitSignal: waiting.signal });
    await runtime.advance(50);
    waiting.abort(boom);
    await runtime.settle();
    expect(breaker.figures.calls).toBe(0);
  });
});

describe('a handler of slices', () => {
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
    const resilience = new ResilienceDecorator({ binding, breaker, runtime, logger });
    const processor = processorOf([batchHandler(handle)], { binding, resilience, runtime, logger });
    const three = [0, 1, 2].map((offset) =>
      deliveryOf({ offset, history: { failures: offset === 1 ? 1 : 0 } }),
    );
    const process = async (signal = new AbortController().signal) =>
      processor.processSlice!(three.map((delivery) => ({ ...delivery, signal })));
    return { breaker, process, resilience };
  };
  const stopped = new BatchProcessingException(1, 'second');

  it('is called once for each delivery: from where it failed it is delivered again', async () => {
    const { process, breaker } = sliceWorld(() => Promise.reject(stopped));
    expect(await process()).toEqual([
      { kind: 'succeeded' },
      { kind: 'failed', error: stopped, attempts: 1, reason: 'redeliver', delayMs: 200 },
      { kind: 'handed-back' },
    ]);
    expect(breaker.figures).toEqual({ calls: 1, failures: 1, slow: 0 });
  });

  it('what it throws because its work was called off, is no failure', async () => {
    const { process, breaker } = sliceWorld(() => Promise.reject(boom));
    const handedBack = { kind: 'handed-back' };
    expect(await process(AbortSignal.abort())).toEqual([handedBack, handedBack, handedBack]);
    expect(breaker.figures.calls).toBe(0);
  });

  it('until its calls are used up', async () => {
    const { process } = sliceWorld(() => Promise.reject(stopped), { maxAttempts: 2 });
    expect((await process())[1]).toMatchObject({ reason: 'retry-exhausted' });
  });

  it.each([
    ['a bad message first', [new PayloadValidationException('bad', []), boom], 1],
    [
      'bad messages only',
      [new PayloadValidationException('bad', []), new PayloadValidationException('bad', [])],
      0,
    ],
  ])(
    'tells the circuit of what it counts, whichever record failed first: %s',
    async (_, errors, failures) => {
      const { resilience, breaker } = sliceWorld(() => undefined);
      const slice = errors.map(
        (_, offset) => ({ delivery: deliveryOf({ offset }) }) as ReadyRecord,
      );
      await resilience.invokeSlice(slice, () =>
        errors.map((error) => aFailure({ reason: 'call-failed', error })),
      );
      expect(breaker.figures.failures).toBe(failures);
    },
  );

  it('is one call for the circuit, and is not called when that is open', async () => {
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
