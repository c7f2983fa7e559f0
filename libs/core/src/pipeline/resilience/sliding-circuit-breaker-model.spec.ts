import fc from 'fast-check';
import { type CircuitBreakerConfig } from './circuit-breaker-config-factory.js';
import { REFUSED } from './sliding-circuit-breaker.js';
import { breakerWith, configOf, resultOf } from './breaker.spec-support.js';

type Step =
  | { readonly kind: 'begin' }
  | { readonly kind: 'end'; readonly which: number; readonly result: string }
  | { readonly kind: 'wait'; readonly ms: number };

interface ReferenceCall {
  readonly age: number;
  readonly grant: number;
}

/** A plain model of the breaker, which keeps lists of calls and counts them anew each time. */
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
