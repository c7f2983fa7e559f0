import { EVENTBUS_DEFAULTS } from '../../config/defaults.js';
import { bindingOf } from '../pipeline.spec-support.js';
import { CircuitBreakerConfigFactory } from './circuit-breaker-config-factory.js';
import { REFUSED } from './sliding-circuit-breaker.js';
import { SMALL, breakerWith } from './breaker.spec-support.js';

describe('A binding without a circuit breaker', () => {
  it('has no circuit-breaker object', () => {
    const circuitBreaker = { ...EVENTBUS_DEFAULTS.binding.circuitBreaker, enabled: false };
    expect(new CircuitBreakerConfigFactory().create(bindingOf({ circuitBreaker }))).toBeUndefined();
  });
});

describe('A closed circuit breaker', () => {
  it.each<[string, object, string, string]>([
    ['opens when the failure rate equals the threshold', {}, 'ssff', 'CCCO'],
    ['stays closed while the failure rate is below the threshold', {}, 'sssf', 'CCCC'],
    [
      'stays closed before minimumNumberOfCalls is reached',
      { minimumNumberOfCalls: 3 },
      'ffs',
      'CCO',
    ],
    ['opens after a success that reaches minimumNumberOfCalls', {}, 'fffs', 'CCCO'],
    [
      'opens only if all calls fail with failureRateThreshold 100',
      { failureRateThreshold: 100 },
      'sffff',
      'CCCCO',
    ],
    [
      'accepts a threshold with a fraction of a per cent',
      { failureRateThreshold: 25.1 },
      'sfss',
      'CCCC',
    ],
    ['ignores calls that are no longer in the window', {}, 'fsssfsssf', 'CCCCCCCCC'],
    ['opens after slow calls, failed or not', { slowCallRateThreshold: 50 }, 'ssSS', 'CCCO'],
    [
      'opens only if all calls are slow with slowCallRateThreshold 100',
      { slowCallRateThreshold: 100 },
      'sSSSS',
      'CCCCO',
    ],
    ['does not count a call as slow that took exactly slowCallDurationMs', {}, 'ssss', 'CCCC'],
    ['does not count bad messages', {}, 'iiiiiisssi', 'CCCCCCCCCC'],
    ['opens even if there are bad messages between the failures', {}, 'ffiiff', 'CCCCCO'],
  ])('%s', (_what, change, results, states) => {
    expect(breakerWith({ ...SMALL, ...change }).calls(results)).toBe(states);
  });

  it('reports why it opened, with the rates and counts', () => {
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

  it('becomes half open after its wait, even without a call', async () => {
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
    const halfOpened = breakerWith({ ...SMALL, ...change });
    halfOpened.calls('ffff');
    await halfOpened.runtime.advance(60_000);
    return halfOpened;
  };

  it.each<[string, object, string, string]>([
    ['closes when its trial calls succeed', {}, 'ss', 'HC'],
    ['opens when its trial calls reach the failure rate', {}, 'sf', 'HO'],
    [
      'closes when its trial calls stay below the failure rate',
      { permittedNumberOfCallsInHalfOpenState: 3 },
      'ssf',
      'HHC',
    ],
    ['opens when its trial calls are too slow', {}, 'SS', 'HO'],
    [
      'decides after one trial call if one is permitted',
      { permittedNumberOfCallsInHalfOpenState: 1 },
      's',
      'C',
    ],
    [
      'decides after more trial calls than the window holds',
      { permittedNumberOfCallsInHalfOpenState: 6 },
      'fsssss',
      'HHHHHC',
    ],
    ['replaces a trial call whose result is ignored by another', {}, 'iiiiss', 'HHHHHC'],
    ['has an empty window after it has closed', {}, 'ssfff', 'HCCCC'],
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

  it('admits more calls after a time limit if trial calls never end', async () => {
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

  describe('after it has admitted more calls because its trial calls took too long', () => {
    const granted = async () => {
      const halfOpened = await halfOpen({ permittedNumberOfCallsInHalfOpenState: 3 });
      const slow = Array.from({ length: 3 }, () => halfOpened.breaker.admit());
      await halfOpened.runtime.advance(60_000);
      const admitAll = (): number => {
        let admitted = 0;
        while (halfOpened.breaker.admit() !== REFUSED) admitted += 1;
        return admitted;
      };
      return { ...halfOpened, slow, admitAll };
    };

    it.each(['before', 'after'])(
      'admits no more than the permitted calls if the slow calls are cancelled %s them',
      async (when) => {
        const { breaker, slow, admitAll } = await granted();
        breaker.settle(breaker.admit(), 'ignored', 0);
        const early = when === 'before' ? 0 : admitAll();
        for (const permit of slow) breaker.settle(permit, 'ignored', 60_000);
        expect(early + admitAll()).toBe(3);
      },
    );

    it('admits one call less for each slow call whose result is counted after all', async () => {
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
  it('is closed, has no timer, and ignores the results of all earlier calls', async () => {
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
  it('may throw: the error is logged and has no other effect', () => {
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
