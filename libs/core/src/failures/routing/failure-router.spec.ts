import { VirtualRuntime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding, ResolvedTier } from '../../config/resolving/resolved-binding.js';
import {
  BatchProcessingException,
  DeserializationException,
  HandlerRefusedException,
} from '../../errors/handler-errors.js';
import type { CircuitState } from '../../model/states/circuit-breaker.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import type { FailedOutcome } from '../../model/outcomes/failed-outcome.js';
import type { FailureClassification } from '../classification/binding-classifier.js';
import type { FailureReport } from '../../model/outcomes/failure-report.js';
import { FailureRouter, type FailureRouterParts } from './failure-router.js';
import { RecordTooLargeForRetryError } from '../publishing/retry-publisher.js';
import { recordOf } from '../report/failure-report-samples.spec-support.js';

const { nextTier, skipToTier, pauseContainer, deadLetter } = ExceptionRoutingDecision;
const POISON = 'RETRIES_EXHAUSTED poison after 3';

let verdict: FailureClassification;
let sent: string[];
let stories: FailureReport[];
let paused: string[];
let publish: () => Promise<void>;
let accept: () => Promise<'stored' | 'discarded'>;
let circuit: CircuitState | undefined;
let observed: unknown[][];
let trials: string[];

beforeEach(() => {
  verdict = { decision: nextTier(), isExplicit: false, isPermanent: false };
  sent = [];
  stories = [];
  paused = [];
  publish = async () => undefined;
  accept = async () => 'stored';
  circuit = undefined;
  observed = [];
  trials = [];
});

function router(binding: Partial<ResolvedBinding> = {}, tier = 0): FailureRouter {
  const quiet = (): void => undefined;
  const whole = {
    name: 'orders',
    groupId: 'shop',
    listenerType: 'SINGLE',
    orderingMode: 'RELAXED_IN_RETRY',
    strictExhaustion: 'DLT',
    batchFailureStrategy: 'SEEK_TO_FAILED',
    batchRedeliveries: 1,
    circuitBreaker: { minimumNumberOfCalls: 3 },
    retry: { onBudgetExceeded: 'DLT', poisonAfter: 0, tiers: [tierOf(1)] },
    dlt: { exceptionDetail: 'full' },
    ...binding,
  } as ResolvedBinding;
  const parts: FailureRouterParts = {
    binding: whole,
    tier,
    classifier: { classify: () => verdict },
    breaker: circuit && {
      get state() {
        return circuit!;
      },
    },
    halfOpenBlocker: {
      onRecordKept: ({ offset }) => void trials.push(`${offset} stays`),
      onRecordRemoved: ({ offset }) => void trials.push(`${offset} leaves`),
    },
    retries: {
      publish: async ({ totalAttempts }, target) => {
        sent.push(`tier ${target.tier.number}.${target.delivery} after ${totalAttempts}`);
        await publish();
      },
    },
    deadLetters: {
      accept: async (report, { reason, cause }) => {
        stories.push(report);
        sent.push(`${reason} ${cause} after ${report.totalAttempts}`);
        return accept();
      },
    },
    pauseBinding: (exceptionClass) => void paused.push(exceptionClass),
    observer: {
      failed: (...told) => void observed.push(['failed', ...told]),
      retried: (...told) => void observed.push(['retried', ...told]),
      deadLettered: (...told) => void observed.push(['dead-lettered', ...told]),
    },
    runtime: new VirtualRuntime(),
    logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  };
  return new FailureRouter(parts);
}

const tierOf = (number: number) =>
  ({ number, topic: `t-${number}`, maxAttempts: 2 }) as ResolvedTier;

const delivery = (given: Partial<Delivery> = {}): Delivery => ({
  record: recordOf(),
  redeliveries: 0,
  receivedAt: 0,
  sessionIndex: 0,
  signal: new AbortController().signal,
  ...given,
});

const failed = (given: Partial<FailedOutcome> = {}): FailedOutcome => ({
  kind: 'failed',
  error: new Error('down'),
  attempts: 3,
  ending: 'exhausted',
  ...given,
});

const dependencyIsDown = (): Error => Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });

describe('A record that failed', () => {
  it('goes to its tier, and is done there', async () => {
    const outcome = await router().route(delivery(), failed());
    expect(outcome).toEqual({ kind: 'retried', tier: 1, delivery: 1 });
    expect(sent).toEqual(['tier 1.1 after 3']);
  });

  it.each([
    ['is delivered again anyway', failed({ ending: 'delivered-again' })],
    ['was refused by a guard', failed({ error: new HandlerRefusedException('no') })],
  ])('stays where it is when it %s', async (_, failure) => {
    expect(await router().route(delivery(), failure)).toMatchObject(failure);
    expect(sent).toEqual([]);
  });

  it('counts the calls of the deliveries before', async () => {
    await router().route(delivery({ redeliveries: 2, failures: 2, calls: 6 }), failed());
    expect(sent).toEqual(['tier 1.1 after 9']);
  });

  it('that cannot be read is dead-lettered, whatever a classifier says', async () => {
    verdict = { ...verdict, isExplicit: true };
    const error = new DeserializationException('x');
    await router().route(delivery(), failed({ error, attempts: 0, ending: undefined }));
    expect(sent).toEqual(['NON_RETRYABLE deserialization after 0']);
  });

  it('pauses its binding, and stays', async () => {
    verdict = { ...verdict, decision: pauseContainer() };
    const failure = failed();
    expect(await router().route(delivery(), failure)).toMatchObject(failure);
    expect(paused).toEqual(['Error']);
  });

  it('waits for a decision where that is asked for', async () => {
    const strict = {
      orderingMode: 'STRICT',
      strictExhaustion: 'PAUSE_PARTITION',
      retry: { tiers: [], poisonAfter: 0 },
    } as unknown as ResolvedBinding;
    expect(await router(strict).route(delivery(), failed())).toMatchObject({
      kind: 'failed',
      until: 'decided',
    });
  });

  it('is discarded when a dead-letter handler has seen to it', async () => {
    verdict = { ...verdict, decision: deadLetter() };
    accept = async () => 'discarded';
    expect(await router().route(delivery(), failed())).toEqual({
      kind: 'discarded',
      reason: 'dlt-handler',
    });
  });

  it('that is too large for its retry topic is dead-lettered', async () => {
    publish = () => Promise.reject(new RecordTooLargeForRetryError('t-1', new Error('1 MiB')));
    expect(await router().route(delivery(), failed())).toEqual({
      kind: 'dead-lettered',
      reason: 'RETRIES_EXHAUSTED',
      cause: 'too-large-for-retry',
    });
  });
});

describe('A record that cannot be written to where it belongs', () => {
  it('stays, and is written later without another call; no call counts twice', async () => {
    publish = () => Promise.reject(new Error('no such topic'));
    const first = (await router().route(delivery(), failed())) as FailedOutcome;
    expect(first).toMatchObject({
      kind: 'failed',
      attempts: 3,
      error: { message: 'no such topic' },
    });
    // As intake keeps it: the calls of this delivery are counted, and the failure is kept.
    const again = delivery({
      redeliveries: 1,
      failures: 1,
      calls: 3,
      pendingRouting: first.pendingRouting!,
    });
    const second = (await router().route(again, again.pendingRouting!)) as FailedOutcome;
    expect(second).toMatchObject({ attempts: 0, pendingRouting: { error: { message: 'down' } } });
    expect(sent).toEqual(['tier 1.1 after 3', 'tier 1.1 after 3']);
  });

  it('remembers how and when it failed', async () => {
    publish = () => Promise.reject(new Error('no such topic'));
    const outcome = await router().route(delivery(), failed({ failedSince: -5 }));
    expect(outcome).toMatchObject({
      failureSummary: { since: -5, fingerprint: expect.any(String) },
    });
  });

  it('was tried once, as intake counts, where it could not be prepared for a call', async () => {
    verdict = { ...verdict, decision: deadLetter() };
    accept = () => Promise.reject(new Error('not authorised'));
    const first = (await router().route(
      delivery(),
      failed({ attempts: undefined, ending: undefined }),
    )) as FailedOutcome;
    expect(first.attempts).toBe(1);
    const again = delivery({
      redeliveries: 1,
      failures: 1,
      calls: 1,
      pendingRouting: first.pendingRouting!,
    });
    await router().route(again, again.pendingRouting!);
    expect(sent).toEqual(Array(2).fill('NON_RETRYABLE routing after 1'));
  });

  it('stays when the dead-letter topic does not take it', async () => {
    verdict = { ...verdict, decision: deadLetter() };
    accept = () => Promise.reject(new Error('not authorised'));
    expect(await router().route(delivery(), failed())).toMatchObject({ kind: 'failed' });
  });

  it('stays when something in here is broken, and its handler is called again: nobody knows where it belongs', async () => {
    const broken = router();
    Object.defineProperty(verdict, 'decision', {
      get() {
        throw new TypeError('a bug');
      },
    });
    const outcome = await broken.route(delivery(), failed());
    expect(outcome).toMatchObject({ kind: 'failed', attempts: 3, error: { message: 'a bug' } });
    expect(outcome).not.toHaveProperty('unrouted');
  });

  /** Until it is written, as intake does it. */
  const routeUntilDone = async (
    first: Delivery,
    failure: FailedOutcome,
    meanwhile: (refused: number) => void,
  ): Promise<void> => {
    const one = router({ retry: { poisonAfter: 3, tiers: [tierOf(1)] } as never });
    let outcome = await one.route(first, failure);
    for (let refused = 1; outcome.kind === 'failed'; refused++) {
      meanwhile(refused);
      const { pendingRouting } = outcome;
      const again = delivery({
        redeliveries: refused,
        failures: 1,
        calls: 3,
        pendingRouting: pendingRouting!,
      });
      outcome = await one.route(again, pendingRouting!);
    }
  };

  it('goes where it was to go at first, whatever its circuit says by then', async () => {
    publish = () => Promise.reject(new Error('no such topic'));
    circuit = 'CLOSED';
    const third = delivery({ redeliveries: 2, failures: 2, calls: 2 });
    await routeUntilDone(third, failed({ error: dependencyIsDown(), attempts: 1 }), (refused) => {
      circuit = refused === 1 ? 'OPEN' : 'HALF_OPEN';
      if (refused === 3) publish = async () => undefined;
    });
    expect(sent).toEqual(Array(4).fill('tier 1.1 after 3'));
  });

  it('goes to its dead letters as poison, although no call of its own came in between', async () => {
    accept = () => Promise.reject(new Error('not authorised'));
    const failure = failed({ ending: 'delivered-again' });
    await routeUntilDone(delivery(), failure, (refused) => {
      if (refused === 3) accept = async () => 'stored';
    });
    expect(sent).toEqual(Array(4).fill(POISON));
  });
});

describe('What is remembered of a record that stays', () => {
  const stays = (given: Partial<FailedOutcome> = {}, before?: Delivery['failureSummary']) =>
    router().route(
      delivery({ ...(before && { redeliveries: 1, failureSummary: before }) }),
      failed({ ending: 'delivered-again', attempts: 1, ...given }),
    );

  it('is its first failure, and whether all were alike', async () => {
    const first = (await stays({ failedSince: -9 })) as FailedOutcome;
    expect(first.failureSummary).toMatchObject({ since: -9 });
    const alike = (await stays({}, first.failureSummary)) as FailedOutcome;
    expect(alike.failureSummary).toEqual(first.failureSummary);
    const other = (await stays(
      { error: new Error('else') },
      first.failureSummary,
    )) as FailedOutcome;
    expect(other.failureSummary).toEqual({ since: -9, fingerprint: 'varied' });
  });

  it('is nothing where no call was made', async () => {
    expect(await stays({ attempts: 0 })).not.toHaveProperty('remember');
  });
});

describe('A record that failed because of its dependency, while a circuit watches', () => {
  const failure = (ending?: FailedOutcome['ending']) =>
    failed({ error: dependencyIsDown(), ending });

  it.each(['OPEN', 'HALF_OPEN', 'CLOSED'] as const)(
    'stays while the circuit is %s',
    async (state) => {
      circuit = state;
      const down = failure();
      expect(await router().route(delivery(), down)).toMatchObject(down);
      expect(sent).toEqual([]);
    },
  );

  it('leaves where the circuit stays closed although it could judge by this record alone', async () => {
    circuit = 'CLOSED';
    await router().route(delivery({ redeliveries: 1, failures: 1 }), failure());
    expect(sent).toEqual([]);
    await router().route(delivery({ redeliveries: 2, failures: 2 }), failure());
    expect(sent).toHaveLength(1);
  });

  it('never leaves while the circuit is open', async () => {
    circuit = 'OPEN';
    await router().route(delivery({ redeliveries: 99, failures: 99 }), failure());
    expect(sent).toEqual([]);
  });

  it('leaves where the application said so itself', async () => {
    circuit = 'OPEN';
    verdict = { ...verdict, isExplicit: true };
    await router().route(delivery(), failure());
    expect(sent).toEqual(['tier 1.1 after 3']);
  });

  it('leaves when the open circuit let no call pass, and pauses nothing', async () => {
    circuit = 'OPEN';
    await router().route(delivery(), failure('circuit-open'));
    expect(sent).toEqual(['tier 1.1 after 3']);
  });

  it('goes the ordinary road where it failed otherwise', async () => {
    circuit = 'OPEN';
    await router().route(delivery(), failed());
    expect(sent).toEqual(['tier 1.1 after 3']);
  });

  it('goes it where no circuit watches', async () => {
    await router().route(delivery(), failure());
    expect(sent).toEqual(['tier 1.1 after 3']);
  });
});

describe('Whoever watches the trial calls of a circuit', () => {
  const { offset } = recordOf();

  it('is told of a record that stays after a call, and of no other', async () => {
    circuit = 'OPEN';
    const down = failed({ error: dependencyIsDown() });
    await router().route(delivery(), down);
    await router().route(delivery(), { ...down, attempts: 0 });
    await router().route(delivery(), failed());
    expect(trials).toEqual([`${offset} stays`]);
  });

  it('is told of one that leaves by a decision, once it has left', async () => {
    await router().applyDecision(delivery(), 'skip');
    await router().applyDecision(delivery(), 'dead-letter');
    accept = () => Promise.reject(new Error('gone'));
    await router().applyDecision(delivery(), 'dead-letter');
    expect(trials).toEqual(Array(2).fill(`${offset} leaves`));
  });
});

describe('Beyond its budget', () => {
  const tooLong = failed({ ending: 'over-budget' });

  it('a record is dead-lettered, or goes to the next tier', async () => {
    await router().route(delivery(), tooLong);
    const retry = { onBudgetExceeded: 'NEXT_TIER', poisonAfter: 0, tiers: [tierOf(1)] };
    await router({ retry } as unknown as ResolvedBinding).route(delivery(), tooLong);
    expect(sent).toEqual(['RETRIES_EXHAUSTED budget-exceeded after 3', 'tier 1.1 after 3']);
  });

  it('a record waits for a decision where the order is worth that', async () => {
    const strict = {
      orderingMode: 'STRICT',
      strictExhaustion: 'PAUSE_PARTITION',
      retry: { onBudgetExceeded: 'DLT', poisonAfter: 0, tiers: [] },
    } as never;
    expect(await router(strict).route(delivery(), failed({ ending: 'over-budget' }))).toMatchObject(
      { kind: 'failed', until: 'decided' },
    );
    expect(sent).toEqual([]);
  });
});

describe('What the application chose for an error', () => {
  const poisonAfter = (count: number, given: object = {}) =>
    router({
      retry: { onBudgetExceeded: 'DLT', poisonAfter: count, tiers: [tierOf(1), tierOf(2)] },
      ...given,
    } as unknown as ResolvedBinding);
  const tooLong = failed({ ending: 'over-budget' });

  it.each([
    ['pauses its binding', pauseContainer(), [], ['Error']],
    ['goes to its tier', skipToTier(2), ['tier 2.1 after 3'], []],
    ['goes to the next tier', nextTier(), ['tier 1.1 after 3'], []],
  ])('%s beyond the budget, too', async (_, decision, wentTo, isPaused) => {
    verdict = { ...verdict, decision, isExplicit: true };
    await poisonAfter(0).route(delivery(), tooLong);
    expect([sent, paused]).toEqual([wentTo, isPaused]);
  });

  it.each([
    ['pauses its binding', pauseContainer(), [], ['Error']],
    ['goes to its tier', skipToTier(2), ['tier 2.1 after 3'], []],
    ['that is the ordinary road ends with it', nextTier(), [POISON], []],
  ])('%s as a poison record, too', async (_, decision, wentTo, isPaused) => {
    verdict = { ...verdict, decision, isExplicit: true };
    await poisonAfter(3).route(delivery(), failed());
    expect([sent, paused]).toEqual([wentTo, isPaused]);
  });

  it('is not overtaken by what poisons a record in its place', async () => {
    const again = failed({ ending: 'delivered-again' });
    verdict = { ...verdict, decision: pauseContainer(), isExplicit: true };
    expect(await poisonAfter(3).route(delivery(), again)).toMatchObject(again);
    expect(sent).toEqual([]);
    verdict = { ...verdict, isExplicit: false };
    await poisonAfter(3).route(delivery(), again);
    expect(sent).toEqual([POISON]);
  });

  it('is not overtaken in a batch either, whose records come again first', async () => {
    const batch = { listenerType: 'BATCH', batchRedeliveries: 5 };
    const failure = failed();
    verdict = { ...verdict, decision: skipToTier(2), isExplicit: true };
    expect(await poisonAfter(3, batch).route(delivery(), failure)).toMatchObject(failure);
    expect(sent).toEqual([]);
  });
});

describe('A decision of an operator', () => {
  it('skips', async () => {
    expect(await router().applyDecision(delivery(), 'skip')).toEqual({
      kind: 'discarded',
      reason: 'skipped',
    });
    expect(sent).toEqual([]);
  });

  it('dead-letters', async () => {
    const waiting = delivery({ redeliveries: 1, failures: 1, calls: 3 });
    expect(await router().applyDecision(waiting, 'dead-letter')).toEqual({
      kind: 'dead-lettered',
      reason: 'MANUAL',
      cause: 'operator',
    });
    expect(sent).toEqual(['MANUAL operator after 3']);
  });

  it('keeps the report of the failure: only the reason is the operator’s', async () => {
    const lastFailure = failed({ error: new RangeError('no stock') });
    const waiting = delivery({ redeliveries: 1, failures: 1, calls: 3, lastFailure: lastFailure });
    await router().applyDecision(waiting, 'dead-letter');
    expect(stories).toMatchObject([
      {
        totalAttempts: 3,
        description: { className: 'RangeError', message: 'no stock' },
        tierHistory: [{ exceptionClass: 'RangeError', attempts: 3 }],
      },
    ]);
  });

  it('is carried out again where the dead-letter topic does not take the record', async () => {
    accept = () => Promise.reject(new Error('gone'));
    const outcome = await router().applyDecision(delivery(), 'dead-letter');
    expect(outcome).toMatchObject({ kind: 'failed', attempts: 0, error: { message: 'gone' } });
    expect(outcome).not.toHaveProperty('until');
  });
});

describe('Whoever counts', () => {
  const main = { topic: recordOf().topic, tier: 0 };

  it('is told of the failure and of the tier, once that has the record', async () => {
    await router().route(delivery(), failed({ error: new RangeError('no') }));
    expect(observed).toEqual([
      ['failed', main, 'RangeError'],
      ['retried', main, 1],
    ]);
  });

  it('is told why a record was dead-lettered, and where it failed', async () => {
    verdict = { ...verdict, decision: deadLetter() };
    await router({}, 1).route(delivery(), failed());
    await router().applyDecision(delivery(), 'dead-letter');
    expect(observed).toEqual([
      ['failed', { ...main, tier: 1 }, 'Error'],
      ['dead-lettered', { ...main, tier: 1 }, 'NON_RETRYABLE', expect.any(String)],
      ['dead-lettered', main, 'MANUAL', 'operator'],
    ]);
  });

  it('is told of one failure, however often the record cannot be written to where it belongs', async () => {
    publish = () => Promise.reject(new Error('no leader'));
    const kept = await router().route(delivery(), failed());
    publish = async () => undefined;
    const { pendingRouting } = kept as FailedOutcome;
    await router().route(delivery({ pendingRouting: pendingRouting! }), pendingRouting!);
    expect(observed).toEqual([
      ['failed', main, 'Error'],
      ['retried', main, 1],
    ]);
  });

  it('is told of a failure that stays where it is, and by what a batch has wrapped', async () => {
    const error = new BatchProcessingException(0, 'the first', [], {
      cause: new RangeError('no'),
    });
    await router().route(delivery(), failed({ error, ending: 'delivered-again' }));
    expect(observed).toEqual([['failed', main, 'RangeError']]);
  });

  it('is told of no dead letter that a handler has discarded, and of no record that was skipped', async () => {
    verdict = { ...verdict, decision: deadLetter() };
    accept = async () => 'discarded';
    await router().route(delivery(), failed());
    await router().applyDecision(delivery(), 'skip');
    expect(observed).toEqual([['failed', main, 'Error']]);
  });
});
