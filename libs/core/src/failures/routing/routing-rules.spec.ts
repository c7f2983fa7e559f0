import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import type { Failure } from '../../model/outcomes/failed-outcome.js';
import type { FailureRouter } from './failure-router.js';
import {
  delivery,
  dependencyIsDown,
  failed,
  RouterTestBed,
  STRICT,
  tierOf,
} from './failure-router.spec-support.js';

const { nextTier, skipToTier, pauseContainer } = ExceptionRoutingDecision;
const POISON = 'RETRIES_EXHAUSTED poison after 3';

let bed: RouterTestBed;

beforeEach(() => {
  bed = new RouterTestBed();
});

describe('An outage of a dependency, with a circuit breaker', () => {
  const failure = (reason: Failure['reason'] = 'retry-exhausted') =>
    failed({ error: dependencyIsDown(), reason });

  it.each(['OPEN', 'HALF_OPEN', 'CLOSED'] as const)(
    'redelivers the record on its topic while the circuit is %s',
    async (state) => {
      bed.circuit = state;
      const down = failure();
      const outcome = await bed.router().route(delivery(), down);
      expect(outcome).toMatchObject({ reason: 'redeliver', error: down.error, attempts: 3 });
      expect(bed.sent).toEqual([]);
    },
  );

  it('moves the record if the circuit stays closed after enough calls to open', async () => {
    bed.circuit = 'CLOSED';
    await bed.router().route(delivery({ history: { redeliveries: 1, failures: 1 } }), failure());
    expect(bed.sent).toEqual([]);
    await bed.router().route(delivery({ history: { redeliveries: 2, failures: 2 } }), failure());
    expect(bed.sent).toHaveLength(1);
  });

  it('never moves the record while the circuit is open', async () => {
    bed.circuit = 'OPEN';
    await bed.router().route(delivery({ history: { redeliveries: 99, failures: 99 } }), failure());
    expect(bed.sent).toEqual([]);
  });

  it('moves the record if the application chose its destination', async () => {
    bed.circuit = 'OPEN';
    bed.classification = { ...bed.classification, isExplicit: true };
    await bed.router().route(delivery(), failure());
    expect(bed.sent).toEqual(['tier 1.1 after 3']);
  });

  it('moves the record if the open circuit prevented the call, and pauses nothing', async () => {
    bed.circuit = 'OPEN';
    await bed.router().route(delivery(), failure('circuit-open'));
    expect(bed.sent).toEqual(['tier 1.1 after 3']);
  });

  it('does not keep a record that failed for another reason', async () => {
    bed.circuit = 'OPEN';
    await bed.router().route(delivery(), failed());
    expect(bed.sent).toEqual(['tier 1.1 after 3']);
  });

  it('does not keep a record of a binding without a circuit breaker', async () => {
    await bed.router().route(delivery(), failure());
    expect(bed.sent).toEqual(['tier 1.1 after 3']);
  });
});

describe('A record beyond its retry budget', () => {
  const tooLong = failed({ reason: 'budget-exceeded' });

  it("is dead-lettered by default, and goes to the next tier with onBudgetExceeded 'NEXT_TIER'", async () => {
    await bed.router().route(delivery(), tooLong);
    const retry = { onBudgetExceeded: 'NEXT_TIER', poisonAfter: 0, tiers: [tierOf(1)] };
    await bed.router({ retry }).route(delivery(), tooLong);
    expect(bed.sent).toEqual(['RETRIES_EXHAUSTED budget-exceeded after 3', 'tier 1.1 after 3']);
  });

  it('waits for a decision of an operator with PAUSE_PARTITION', async () => {
    expect(await bed.router(STRICT).route(delivery(), tooLong)).toMatchObject({
      kind: 'failed',
      reason: 'awaiting-decision',
    });
    expect(bed.sent).toEqual([]);
  });
});

describe('A destination that the application chose for an error', () => {
  const poisonAfter = (count: number, given: object = {}): FailureRouter =>
    bed.router({
      retry: { onBudgetExceeded: 'DLT', poisonAfter: count, tiers: [tierOf(1), tierOf(2)] },
      ...given,
    });
  const tooLong = failed({ reason: 'budget-exceeded' });
  const choose = (decision: ExceptionRoutingDecision): void => {
    bed.classification = { ...bed.classification, decision, isExplicit: true };
  };

  it.each([
    ['pauses its binding', pauseContainer(), [], ['Error']],
    ['is the tier of SKIP_TO_TIER', skipToTier(2), ['tier 2.1 after 3'], []],
    ['is the next tier', nextTier(), ['tier 1.1 after 3'], []],
  ])('%s also beyond the retry budget', async (_, decision, sent, paused) => {
    choose(decision);
    await poisonAfter(0).route(delivery(), tooLong);
    expect([bed.sent, bed.paused]).toEqual([sent, paused]);
  });

  it.each([
    ['pauses the binding with a poison record', pauseContainer(), [], ['Error']],
    ['is used for a poison record if it is a tier', skipToTier(2), ['tier 2.1 after 3'], []],
    [
      'is the dead-letter topic for a poison record if NEXT_TIER was chosen',
      nextTier(),
      [POISON],
      [],
    ],
  ])('%s', async (_, decision, sent, paused) => {
    choose(decision);
    await poisonAfter(3).route(delivery(), failed());
    expect([bed.sent, bed.paused]).toEqual([sent, paused]);
  });

  it('has priority over poison: the record is redelivered first if it has calls left', async () => {
    const again = failed({ reason: 'redeliver' });
    choose(pauseContainer());
    const outcome = await poisonAfter(3).route(delivery(), again);
    expect(outcome).toMatchObject({ reason: 'redeliver', error: again.error });
    expect(bed.sent).toEqual([]);
    bed.classification = { ...bed.classification, isExplicit: false };
    await poisonAfter(3).route(delivery(), again);
    expect(bed.sent).toEqual([POISON]);
  });

  it('has priority over poison in a batch, whose records are redelivered first', async () => {
    const batch = { listenerType: 'BATCH', batchRedeliveries: 5 };
    const failure = failed();
    choose(skipToTier(2));
    const outcome = await poisonAfter(3, batch).route(delivery(), failure);
    expect(outcome).toMatchObject({ reason: 'redeliver', error: failure.error });
    expect(bed.sent).toEqual([]);
  });
});

describe('A batch failure that names no record', () => {
  it('redelivers the first record, even if it would be poison otherwise', async () => {
    const router = bed.router({ retry: { poisonAfter: 1, tiers: [] } });
    const history = { redeliveries: 2, failures: 2, calls: 2 };
    const failure = failed({ reason: 'unattributed', attempts: 1, delayMs: 0 });
    const outcome = await router.route(delivery({ history }), failure);
    expect(outcome).toMatchObject({ reason: 'redeliver', delayMs: 0 });
    expect([bed.sent, bed.halfOpenCalls]).toEqual([[], []]);
  });
});
