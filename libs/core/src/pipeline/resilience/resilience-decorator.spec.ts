import {
  HandlerRefusedException,
  PayloadValidationException,
} from '../../errors/handler-errors.js';
import type { EventContext } from '../../model/records/event-context.js';
import { deliveryOf, errorOf } from '../pipeline.spec-support.js';
import {
  bindingUnderTest,
  boom,
  failing,
  failingTimes,
  type Handle,
  type Given,
} from './resilience.spec-support.js';

describe('ResilienceDecorator, after a success', () => {
  it('creates no promise, no signal and no timer for a synchronous handler, with all options on', () => {
    const { processor, runtime, breaker } = bindingUnderTest(() => undefined, { circuit: {} });
    const made = jest.spyOn(globalThis, 'AbortController');
    const delivery = deliveryOf();
    expect(processor.process(delivery)).toEqual({ kind: 'succeeded' });
    expect(made).not.toHaveBeenCalled();
    made.mockRestore();
    expect(runtime.pendingTimers).toBe(0);
    expect(breaker.figures).toEqual({ calls: 1, failures: 0, slow: 0 });
  });

  it('returns success after failed calls, and passes the number of each call', async () => {
    const { process, calls, attempts } = bindingUnderTest(failingTimes(2));
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

describe('ResilienceDecorator, after a failed call', () => {
  it('calls the handler up to maxAttempts times, and waits between the calls', async () => {
    const { process, calls } = bindingUnderTest(failing, {
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

  it('calls a handler again that rejects', async () => {
    const { process, calls } = bindingUnderTest(() => Promise.reject(boom));
    expect(await process()).toMatchObject({ error: boom, attempts: 3, reason: 'retry-exhausted' });
    expect(calls).toEqual([0, 100, 300]);
  });

  it('calls a handler again that returns a thenable of another library', async () => {
    const rejecting = {
      // oxlint-disable-next-line unicorn/no-thenable -- that is what is to be met
      then(_: unknown, reject: (error: unknown) => void): void {
        reject(boom);
      },
    };
    const { process, calls } = bindingUnderTest(() => rejecting, { circuit: {} });
    expect(await process()).toMatchObject({ error: boom, attempts: 3, reason: 'retry-exhausted' });
    expect(calls).toEqual([0, 100, 300]);
  });

  it('returns the last error', async () => {
    let number = 0;
    const { process } = bindingUnderTest(() => {
      throw new Error(`failure ${++number}`);
    });
    expect(errorOf(await process()).message).toBe('failure 3');
  });

  it('sets hasVaried if the calls failed with errors of different classes or messages', async () => {
    const failingWith = (...errors: readonly unknown[]) => {
      const left = [...errors];
      return bindingUnderTest(() => {
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

  it('passes the original value to each call, even if an earlier call changed it', async () => {
    const seen: unknown[] = [];
    const { process } = bindingUnderTest((_context, { value }) => {
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

  it('ignores that an earlier call asked to hand the record back', async () => {
    let number = 0;
    const { process } = bindingUnderTest((context) => {
      if (++number > 1) return;
      context.handBack();
      throw boom;
    });
    expect(await process()).toEqual({ kind: 'succeeded' });
  });

  it('hands the record back if a later call asks for it', async () => {
    let number = 0;
    const { process, breaker } = bindingUnderTest(
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
    'makes no further call after call %i has %s its record, and the circuit breaker does not count it',
    async (last, _word, say, expected) => {
      let number = 0;
      const { process, calls, breaker } = bindingUnderTest(
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
    [
      'the fault rules blame the message',
      {},
      Object.assign(new Error(), { code: '23505' }),
      'bad-message',
    ],
    [
      'nonRetryableExceptions contains the error',
      { nonRetryable: ['TypeError'] },
      new TypeError(),
      'bad-message',
    ],
    [
      'retryableExceptions does not contain the error',
      { retryable: [RangeError] },
      new TypeError(),
      'retry-exhausted',
    ],
    ['a guard refuses', {}, new HandlerRefusedException('no'), 'retry-exhausted'],
    ['maxAttempts is 1', { tier0: { maxAttempts: 1 } }, boom, 'retry-exhausted'],
  ])('makes no further call when %s', async (_why, given, error, reason) => {
    const { process, calls } = bindingUnderTest(() => {
      throw error;
    }, given);
    expect(await process()).toEqual({ kind: 'failed', error, attempts: 1, reason });
    expect(calls).toEqual([0]);
  });

  it('makes no further call after 70 % of maxPollIntervalMs', async () => {
    const { process, calls, runtime } = bindingUnderTest(failing, {
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

  it('counts the duration of the calls towards that 70 % of maxPollIntervalMs', async () => {
    const slowly: Handle = () =>
      new Promise((_, reject) => void binding.runtime.setTimer(() => reject(boom), 250));
    const binding = bindingUnderTest(slowly, {
      tier0: { maxAttempts: 9 },
      maxPollIntervalMs: 1_000,
    });
    expect(await binding.process()).toMatchObject({ attempts: 2, reason: 'budget-exceeded' });
  });
});

describe("ResilienceDecorator, with retry.mode 'seek'", () => {
  it.each([
    [0, { reason: 'redeliver', delayMs: 100 }],
    [1, { reason: 'redeliver', delayMs: 200 }],
    [2, { reason: 'retry-exhausted' }],
  ])('makes one call per delivery, after %i failures', async (failures, rest) => {
    const { process, calls } = bindingUnderTest(failing, { mode: 'seek' });
    const outcome = await process({ history: { redeliveries: failures + 7, failures } });
    expect(outcome).toEqual({ kind: 'failed', error: boom, attempts: 1, ...rest });
    expect(calls).toHaveLength(1);
  });
});
