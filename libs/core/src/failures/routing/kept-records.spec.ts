import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import { afterFailure, type DeliveryHistory } from '../../model/outcomes/delivery-history.js';
import type { Delivery } from '../../model/outcomes/delivery.js';
import type { FailedOutcome, Failure } from '../../model/outcomes/failed-outcome.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import { recordOf } from '../report/failure-report-samples.spec-support.js';
import {
  delivery,
  dependencyIsDown,
  failed,
  RouterTestBed,
  tierOf,
} from './failure-router.spec-support.js';

const { deadLetter } = ExceptionRoutingDecision;
const POISON = 'RETRIES_EXHAUSTED poison after 3';

let bed: RouterTestBed;

beforeEach(() => {
  bed = new RouterTestBed();
});

/** Returns the next delivery of the record, as its lane would create it. */
const next = ({ history }: Delivery, outcome: Outcome): Delivery =>
  delivery({ history: afterFailure(history, outcome as FailedOutcome) });

describe('FailureRouter with a topic that accepts no record', () => {
  it('repeats the write without another handler call, and counts the calls once', async () => {
    bed.publish = () => Promise.reject(new Error('no such topic'));
    const first = await bed.router().route(delivery(), failed());
    expect(first).toMatchObject({
      kind: 'failed',
      reason: 'write-failed',
      attempts: 3,
      error: { message: 'no such topic' },
    });
    const again = next(delivery(), first);
    const second = await bed.router().routeWithoutCall(again);
    expect(second).toMatchObject({
      reason: 'write-failed',
      attempts: 0,
      pendingWrite: { report: { description: { message: 'down' } } },
    });
    expect(bed.sent).toEqual(['tier 1.1 after 3', 'tier 1.1 after 3']);
  });

  it('remembers how and when the record failed until the write is repeated', async () => {
    bed.publish = () => Promise.reject(new Error('no such topic'));
    const outcome = await bed.router().route(delivery(), failed({ firstFailedAt: -5 }));
    expect(outcome).toMatchObject({
      pendingWrite: { report: { firstFailureAt: -5, fingerprint: expect.any(String) } },
    });
  });

  it('counts one attempt for a record that could not be prepared for a call', async () => {
    bed.classification = { ...bed.classification, decision: deadLetter() };
    bed.accept = () => Promise.reject(new Error('not authorised'));
    const failure = failed({ attempts: 1, reason: 'not-called' });
    const first = await bed.router().route(delivery(), failure);
    expect(first).toMatchObject({ attempts: 1 });
    await bed.router().routeWithoutCall(next(delivery(), first));
    expect(bed.sent).toEqual(Array(2).fill('NON_RETRYABLE routing after 1'));
  });

  it('redelivers the record if the dead-letter topic does not accept it', async () => {
    bed.classification = { ...bed.classification, decision: deadLetter() };
    bed.accept = () => Promise.reject(new Error('not authorised'));
    expect(await bed.router().route(delivery(), failed())).toMatchObject({ kind: 'failed' });
  });

  it('emits one failure, however often the write is repeated', async () => {
    bed.publish = () => Promise.reject(new Error('no leader'));
    const kept = await bed.router().route(delivery(), failed());
    bed.publish = async () => undefined;
    await bed.router().routeWithoutCall(next(delivery(), kept));
    expect(bed.events.map(({ name }) => name)).toEqual(['record.failed', 'record.retried']);
  });

  /** Repeats the write until it succeeds, as the lane does. */
  const routeUntilDone = async (
    first: Delivery,
    failure: Failure,
    onRefused: (times: number) => void,
  ): Promise<void> => {
    const router = bed.router({ retry: { poisonAfter: 3, tiers: [tierOf(1)] } });
    let current = first;
    let outcome: Outcome | undefined = await router.route(first, failure);
    for (let refused = 1; outcome?.kind === 'failed'; refused++) {
      onRefused(refused);
      current = next(current, outcome);
      outcome = await router.routeWithoutCall(current);
    }
  };

  it('repeats the write to the same destination, even if the circuit changes meanwhile', async () => {
    bed.publish = () => Promise.reject(new Error('no such topic'));
    bed.circuit = 'CLOSED';
    const third = delivery({ history: { redeliveries: 2, failures: 2, calls: 2 } });
    await routeUntilDone(third, failed({ error: dependencyIsDown(), attempts: 1 }), (refused) => {
      bed.circuit = refused === 1 ? 'OPEN' : 'HALF_OPEN';
      if (refused === 3) bed.publish = async () => undefined;
    });
    expect(bed.sent).toEqual(Array(4).fill('tier 1.1 after 3'));
  });

  it('still dead-letters a poison record after writes that failed', async () => {
    bed.accept = () => Promise.reject(new Error('not authorised'));
    await routeUntilDone(delivery(), failed({ reason: 'redeliver' }), (refused) => {
      if (refused === 3) bed.accept = async () => 'stored';
    });
    expect(bed.sent).toEqual(Array(4).fill(POISON));
  });
});

describe('FailureRouter with an internal error', () => {
  it('redelivers the record and calls its handler again, because no destination is known', async () => {
    Object.defineProperty(bed.classification, 'decision', {
      get() {
        throw new TypeError('a bug');
      },
    });
    const outcome = await bed.router().route(delivery(), failed());
    expect(outcome).toMatchObject({
      kind: 'failed',
      reason: 'redeliver',
      attempts: 3,
      error: { message: 'a bug' },
    });
  });
});

describe('FailureRouter with a record that is redelivered on its own topic', () => {
  const keep = async (given: Partial<Failure> = {}, before: Partial<DeliveryHistory> = {}) => {
    const first = delivery({ history: before });
    const failure = failed({ reason: 'redeliver', attempts: 1, ...given });
    return next(first, await bed.router().route(first, failure)).history;
  };

  it('remembers the time of the first failure, and whether all failures had the same fingerprint', async () => {
    const first = await keep({ firstFailedAt: -9 });
    expect(first.lastFailure).toMatchObject({ firstFailureAt: -9 });
    const alike = await keep({}, first);
    const { firstFailureAt, fingerprint } = first.lastFailure!;
    expect(alike.lastFailure).toMatchObject({ firstFailureAt, fingerprint });
    const other = await keep({ error: new Error('else') }, first);
    expect(other.lastFailure).toMatchObject({ firstFailureAt: -9, fingerprint: 'varied' });
  });

  it('remembers no failure if the handler was not called', async () => {
    expect((await keep({ attempts: 0 })).lastFailure).toBeUndefined();
  });

  it('remembers no bytes of the record', async () => {
    expect((await keep()).lastFailure).not.toHaveProperty('record');
  });
});

describe('FailureRouter with a decision of an operator', () => {
  const decided = (decision: 'skip' | 'dead-letter', history: Partial<DeliveryHistory> = {}) =>
    bed.router().routeWithoutCall(delivery({ history: { ...history, decision } }));

  it('skips the record for "skip"', async () => {
    expect(await decided('skip')).toEqual({ kind: 'discarded', reason: 'skipped' });
    expect(bed.sent).toEqual([]);
  });

  it('dead-letters the record for "dead-letter"', async () => {
    const history = { redeliveries: 1, failures: 1, calls: 3 };
    expect(await decided('dead-letter', history)).toEqual({
      kind: 'dead-lettered',
      reason: 'MANUAL',
      cause: 'operator',
    });
    expect(bed.sent).toEqual(['MANUAL operator after 3']);
  });

  it('reports the failure that led to the decision; only the reason is the operator’s', async () => {
    const failure = failed({ reason: 'redeliver', error: new RangeError('no stock') });
    const kept = await bed.router().route(delivery(), failure);
    await decided('dead-letter', next(delivery(), kept).history);
    expect(bed.reports).toMatchObject([
      {
        totalAttempts: 3,
        description: { className: 'RangeError', message: 'no stock' },
        tierHistory: [{ exceptionClass: 'RangeError', attempts: 3 }],
      },
    ]);
  });

  it('applies the decision again if the dead-letter topic does not accept the record', async () => {
    bed.accept = () => Promise.reject(new Error('gone'));
    const outcome = await decided('dead-letter');
    expect(outcome).toMatchObject({ kind: 'failed', attempts: 0, error: { message: 'gone' } });
    expect(outcome).toMatchObject({ reason: 'redeliver' });
  });

  it('notifies HalfOpenBlockerDetector when the record has been removed', async () => {
    const { offset } = recordOf();
    await decided('skip');
    await decided('dead-letter');
    bed.accept = () => Promise.reject(new Error('gone'));
    await decided('dead-letter');
    expect(bed.halfOpenCalls).toEqual(Array(2).fill(`${offset} removed`));
  });

  it('returns undefined for a record without a decision and without a pending write', () => {
    expect(bed.router().routeWithoutCall(delivery())).toBeUndefined();
  });
});
