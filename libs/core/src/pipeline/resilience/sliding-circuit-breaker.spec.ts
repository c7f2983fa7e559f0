import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import fc from 'fast-check';
import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import type { CircuitTransition } from '../../model/states/circuit-breaker.js';
import { bindingOf, recordingLogger } from '../pipeline.spec-support.js';
import {
  CircuitBreakerConfigFactory,
  type CircuitBreakerConfig,
} from './circuit-breaker-config-factory.js';
import { REFUSED, SlidingCircuitBreaker, type CallResult } from './sliding-circuit-breaker.js';

const defaults = EVENTBUS_DEFAULTS.binding.circuitBreaker;

function configOf(change: Partial<typeof defaults> | object = {}): CircuitBreakerConfig {
  const circuitBreaker = { ...defaults, enabled: true, ...change };
  return new CircuitBreakerConfigFactory().create(bindingOf({ circuitBreaker }))!;
}

function breakerWith(change: object = {}) {
  const runtime = new VirtualRuntime();
  const logger = recordingLogger();
  const breaker = new SlidingCircuitBreaker(configOf(change), runtime, logger);
  const transitions: CircuitTransition[] = [];
  breaker.onTransition((transition) => transitions.push(transition));
  /** s succeeded, f failed, S and F the same slowly, i ignored. Answers with the states after each. */
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

function resultOf(letter: string): [CallResult, number] {
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

/** Small enough to be read. */
const SMALL = {
  slidingWindowSize: 4,
  minimumNumberOfCalls: 4,
  permittedNumberOfCallsInHalfOpenState: 2,
};

describe('A binding without a circuit breaker', () => {
  it('creates no breaker', () => {
    const circuitBreaker = { ...defaults, enabled: false };
    expect(new CircuitBreakerConfigFactory().create(bindingOf({ circuitBreaker }))).toBeUndefined();
  });
});

describe('A closed circuit breaker', () => {
  it.each<[string, object, string, string]>([
    ['opens at the rate, not above it', {}, 'ssff', 'CCCO'],
    ['stays closed below it', {}, 'sssf', 'CCCC'],
    ['decides nothing before there are enough calls', { minimumNumberOfCalls: 3 }, 'ffs', 'CCO'],
    ['opens by a success, if that makes them enough', {}, 'fffs', 'CCCO'],
    ['can wait for 100 %', { failureRateThreshold: 100 }, 'sffff', 'CCCCO'],
    ['takes fractions of a per cent', { failureRateThreshold: 25.1 }, 'sfss', 'CCCC'],
    ['forgets what falls out of the window', {}, 'fsssfsssf', 'CCCCCCCCC'],
    ['opens by calls that are slow, failed or not', { slowCallRateThreshold: 50 }, 'ssSS', 'CCCO'],
    ['opens where all are slow', { slowCallRateThreshold: 100 }, 'sSSSS', 'CCCCO'],
    ['takes a call for slow that took longer than the limit, not as long', {}, 'ssss', 'CCCC'],
    ['does not count bad messages', {}, 'iiiiiisssi', 'CCCCCCCCCC'],
    ['is not kept closed by bad messages', {}, 'ffiiff', 'CCCCCO'],
  ])('%s', (_what, change, results, states) => {
    expect(breakerWith({ ...SMALL, ...change }).calls(results)).toBe(states);
  });

  it('reports why it opened, with the figures', () => {
    const failing = breakerWith(SMALL);
    failing.calls('sfff');
    expect(failing.transitions).toMatchObject([
      {
        from: 'CLOSED',
        to: 'OPEN',
        cause: 'failure-rate',
        figures: { calls: 4, failures: 3, slow: 0 },
      },
    ]);
    const slow = breakerWith(SMALL);
    slow.calls('SSSS');
    expect(slow.transitions).toMatchObject([{ cause: 'slow-call-rate', figures: { slow: 4 } }]);
  });
});

describe('An open circuit breaker', () => {
  it('refuses all calls', () => {
    const { calls } = breakerWith(SMALL);
    expect(calls('ffffsf')).toBe('CCCO--');
  });

  it('becomes half open after its wait, without a call', async () => {
    const { breaker, calls, runtime, transitions } = breakerWith({
      ...SMALL,
      waitDurationInOpenStateMs: 30_000,
    });
    calls('ffff');
    await runtime.advance(29_999);
    expect(breaker.state).toBe('OPEN');
    await runtime.advance(1);
    expect(breaker.state).toBe('HALF_OPEN');
    expect(transitions.map(({ to, cause }) => [to, cause])).toEqual([
      ['OPEN', 'failure-rate'],
      ['HALF_OPEN', 'wait-over'],
    ]);
    expect(breaker.since).toBe(runtime.now());
    expect(runtime.pendingTimers).toBe(0);
  });

  it('ignores the results of calls that began while it was closed', async () => {
    const { breaker, calls, runtime } = breakerWith(SMALL);
    const early = [breaker.admit(), breaker.admit(), breaker.admit()];
    calls('ffff');
    breaker.settle(early[0]!, 'succeeded', 0);
    await runtime.advance(60_000);
    breaker.settle(early[1]!, 'failed', 0);
    breaker.settle(early[2]!, 'failed', 0);
    expect(breaker.state).toBe('HALF_OPEN');
    expect(breaker.figures.calls).toBe(0);
  });
});

describe('A half open circuit breaker', () => {
  const halfOpen = async (change: object = {}) => {
    const world = breakerWith({ ...SMALL, ...change });
    world.calls('ffff');
    await world.runtime.advance(60_000);
    return world;
  };

  it.each<[string, object, string, string]>([
    ['closes when its trial calls are good', {}, 'ss', 'HC'],
    ['opens when they reach the failure rate', {}, 'sf', 'HO'],
    ['closes below it', { permittedNumberOfCallsInHalfOpenState: 3 }, 'ssf', 'HHC'],
    ['opens when they are too slow', {}, 'SS', 'HO'],
    [
      'decides over one call, if one is permitted',
      { permittedNumberOfCallsInHalfOpenState: 1 },
      's',
      'C',
    ],
    [
      'decides over more than the window holds',
      { permittedNumberOfCallsInHalfOpenState: 6 },
      'fsssss',
      'HHHHHC',
    ],
    ['gives the place of a call that told nothing to another', {}, 'iiiiss', 'HHHHHC'],
    ['begins with an empty window once it is closed', {}, 'ssfff', 'HCCCC'],
  ])('%s', async (_what, change, results, states) => {
    expect((await halfOpen(change)).calls(results)).toBe(states);
  });

  it('admits no more than the permitted calls at a time', async () => {
    const { breaker, calls } = await halfOpen();
    const trials = [breaker.admit(), breaker.admit()];
    expect(breaker.admit()).toBe(REFUSED);
    breaker.settle(trials[0]!, 'succeeded', 0);
    expect(breaker.admit()).toBe(REFUSED);
    breaker.settle(trials[1]!, 'succeeded', 0);
    expect(breaker.state).toBe('CLOSED');
    expect(calls('s')).toBe('C');
  });

  it('admits more calls after some time if trial calls never end', async () => {
    const { breaker, calls, runtime } = await halfOpen();
    const [hanging, late] = [breaker.admit(), breaker.admit()];
    await runtime.advance(59_999);
    expect(breaker.admit()).toBe(REFUSED);
    await runtime.advance(1);
    expect(calls('s')).toBe('H');
    breaker.settle(late, 'succeeded', 0);
    expect(breaker.state).toBe('CLOSED');
    breaker.settle(hanging, 'failed', 0);
    expect(breaker.figures.calls).toBe(0);
  });

  describe('that has admitted more calls because its trial calls took too long', () => {
    const granted = async () => {
      const world = await halfOpen({ permittedNumberOfCallsInHalfOpenState: 3 });
      const slow = Array.from({ length: 3 }, () => world.breaker.admit());
      await world.runtime.advance(60_000);
      const admitAll = (): number => {
        let admitted = 0;
        while (world.breaker.admit() !== REFUSED) admitted += 1;
        return admitted;
      };
      return { ...world, slow, admitAll };
    };

    it.each(['before', 'after'])(
      'admits no more than the permitted calls: the slow ones are cancelled %s it',
      async (when) => {
        const { breaker, slow, admitAll } = await granted();
        breaker.settle(breaker.admit(), 'ignored', 0);
        const early = when === 'before' ? 0 : admitAll();
        for (const permit of slow) breaker.settle(permit, 'ignored', 60_000);
        expect(early + admitAll()).toBe(3);
      },
    );

    it('admits one call less for each slow one that still has a counted result', async () => {
      const { breaker, slow, admitAll } = await granted();
      const other = breaker.admit();
      breaker.settle(slow[0]!, 'succeeded', 0);
      expect(admitAll()).toBe(1);
      breaker.settle(slow[1]!, 'succeeded', 0);
      breaker.settle(other, 'ignored', 0);
      expect(admitAll()).toBe(0);
      breaker.settle(slow[2]!, 'succeeded', 0);
      expect(breaker.state).toBe('CLOSED');
    });
  });

  it('waits again after it has opened again', async () => {
    const { breaker, calls, runtime } = await halfOpen();
    calls('ff');
    await runtime.advance(59_999);
    expect(breaker.state).toBe('OPEN');
    await runtime.advance(1);
    expect(calls('ss')).toBe('HC');
  });
});

describe('A circuit breaker that is reset', () => {
  it('is closed, has no timer, and ignores all earlier calls, also the running ones', async () => {
    const { breaker, calls, runtime, transitions } = breakerWith(SMALL);
    calls('ffff');
    breaker.reset();
    expect(breaker.state).toBe('CLOSED');
    expect(runtime.pendingTimers).toBe(0);
    expect(transitions.at(-1)).toMatchObject({ from: 'OPEN', to: 'CLOSED', cause: 'reset' });
    calls('fff');
    const running = breaker.admit();
    breaker.reset();
    breaker.settle(running, 'failed', 0);
    expect(breaker.figures.calls).toBe(0);
    expect(transitions).toHaveLength(2);
  });
});

describe('A listener of a circuit breaker', () => {
  it('may throw without an effect, which is logged', () => {
    const { breaker, calls, logger, transitions } = breakerWith(SMALL);
    breaker.onTransition(() => {
      throw new Error('broken');
    });
    const unsubscribe = breaker.onTransition(() => transitions.push(transitions[0]!));
    unsubscribe();
    expect(calls('ffff')).toBe('CCCO');
    expect(transitions).toHaveLength(1);
    expect(logger.lines).toMatchObject([{ level: 'error', context: { binding: 'orders' } }]);
  });
});

type Step =
  | { readonly kind: 'begin' }
  | { readonly kind: 'end'; readonly which: number; readonly result: string }
  | { readonly kind: 'wait'; readonly ms: number };

interface ReferenceCall {
  readonly age: number;
  readonly grant: number;
}

/** The same in plain words: whole lists of calls, counted anew each time. */
class ReferenceBreaker {
  state = 'CLOSED';
  window: string[] = [];
  underWay = 0;
  openedAt = 0;
  grantedAt = 0;
  age = 0;
  grant = 0;

  constructor(private readonly config: CircuitBreakerConfig) {}

  at(now: number): void {
    const dueAt = this.openedAt + this.config.waitDurationInOpenStateMs;
    if (this.state === 'OPEN' && now >= dueAt) this.become('HALF_OPEN', dueAt);
  }

  begin(now: number): ReferenceCall | undefined {
    const { permittedNumberOfCallsInHalfOpenState: permitted, waitDurationInOpenStateMs } =
      this.config;
    if (this.state === 'OPEN') return undefined;
    if (this.state === 'HALF_OPEN' && this.underWay + this.window.length >= permitted) {
      if (now - this.grantedAt < waitDurationInOpenStateMs) return undefined;
      Object.assign(this, { underWay: 0, grantedAt: now, grant: this.grant + 1 });
    }
    this.underWay++;
    return { age: this.age, grant: this.grant };
  }

  end({ age, grant }: ReferenceCall, result: string, now: number): void {
    if (age !== this.age) return;
    if (grant === this.grant) this.underWay--;
    if (result === 'i') return;
    this.window.push(result);
    if (this.state === 'HALF_OPEN') {
      if (this.window.length < this.config.permittedNumberOfCallsInHalfOpenState) return;
      return this.become(this.isTooBad() ? 'OPEN' : 'CLOSED', now);
    }
    this.window = this.window.slice(-this.config.slidingWindowSize);
    if (this.window.length >= this.config.minimumNumberOfCalls && this.isTooBad())
      this.become('OPEN', now);
  }

  private isTooBad(): boolean {
    const share = (letters: string): number =>
      (100 * this.window.filter((call) => letters.includes(call)).length) / this.window.length;
    return (
      share('fF') >= this.config.failureRateThreshold ||
      share('SF') >= this.config.slowCallRateThreshold
    );
  }

  private become(state: string, now: number): void {
    Object.assign(this, {
      state,
      openedAt: now,
      grantedAt: now,
      window: [],
      underWay: 0,
      age: this.age + 1,
    });
  }
}

describe('Any history of a circuit breaker', () => {
  it('equals that of its reference model', async () => {
    const config = fc
      .record({
        slidingWindowSize: fc.integer({ min: 1, max: 6 }),
        minimumNumberOfCalls: fc.integer({ min: 1, max: 6 }),
        permittedNumberOfCallsInHalfOpenState: fc.integer({ min: 1, max: 4 }),
        failureRateThreshold: fc.constantFrom(1, 20, 25, 50, 75, 100),
        slowCallRateThreshold: fc.constantFrom(20, 50, 100),
        waitDurationInOpenStateMs: fc.constantFrom(1, 100),
      })
      .filter(
        ({ slidingWindowSize, minimumNumberOfCalls }) => minimumNumberOfCalls <= slidingWindowSize,
      );
    const step: fc.Arbitrary<Step> = fc.oneof(
      { weight: 4, arbitrary: fc.constant({ kind: 'begin' as const }) },
      {
        weight: 4,
        arbitrary: fc.record({
          kind: fc.constant('end' as const),
          which: fc.nat(7),
          result: fc.constantFrom('s', 's', 'f', 'f', 'S', 'F', 'i'),
        }),
      },
      {
        weight: 2,
        arbitrary: fc.record({
          kind: fc.constant('wait' as const),
          ms: fc.constantFrom(1, 60, 100),
        }),
      },
    );
    const seen = new Set<string>();
    await fc.assert(
      fc.asyncProperty(
        config,
        fc.array(step, { minLength: 30, maxLength: 80, size: 'max' }),
        async (change, steps) => {
          const { breaker, runtime } = breakerWith(change);
          const model = new ReferenceBreaker(configOf(change));
          const running: { permit: number; modelled: ReferenceCall }[] = [];
          for (const each of steps) {
            if (each.kind === 'wait') {
              await runtime.advance(each.ms);
              model.at(runtime.monotonic());
            } else if (each.kind === 'begin') {
              const permit = breaker.admit();
              const modelled = model.begin(runtime.monotonic());
              expect(permit === REFUSED).toBe(modelled === undefined);
              if (modelled) running.push({ permit, modelled });
            } else {
              const [call] = running.splice(each.which, 1);
              if (!call) continue;
              breaker.settle(call.permit, ...resultOf(each.result));
              model.end(call.modelled, each.result, runtime.monotonic());
            }
            expect(breaker.state).toBe(model.state);
            seen.add(model.state);
          }
        },
      ),
      { numRuns: 150 },
    );
    expect([...seen].sort()).toEqual(['CLOSED', 'HALF_OPEN', 'OPEN']);
  });
});
