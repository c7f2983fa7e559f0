import {
  BatchProcessingException,
  DeserializationException,
  HandlerRefusedException,
} from '../../errors/handler-errors.js';
import { ExceptionRoutingDecision } from '../../model/outcomes/exception-routing-decision.js';
import { RecordTooLargeForRetryError } from '../publishing/retry-publisher.js';
import { recordOf } from '../report/failure-report-samples.spec-support.js';
import {
  delivery,
  dependencyIsDown,
  failed,
  RouterTestBed,
  STRICT,
} from './failure-router.spec-support.js';

const { pauseContainer, deadLetter } = ExceptionRoutingDecision;

let bed: RouterTestBed;

beforeEach(() => {
  bed = new RouterTestBed();
});

describe('FailureRouter', () => {
  it('writes a failed record to the next tier, and the record is done', async () => {
    const outcome = await bed.router().route(delivery(), failed());
    expect(outcome).toEqual({ kind: 'retried', tier: 1, delivery: 1 });
    expect(bed.sent).toEqual(['tier 1.1 after 3']);
  });

  it.each([
    ['has calls left', failed({ reason: 'redeliver' })],
    ['was refused by a guard', failed({ error: new HandlerRefusedException('no') })],
  ])('keeps a record in its place that %s', async (_, failure) => {
    const { error, attempts } = failure;
    expect(await bed.router().route(delivery(), failure)).toMatchObject({
      kind: 'failed',
      reason: 'redeliver',
      error,
      attempts,
    });
    expect(bed.sent).toEqual([]);
  });

  it('counts the calls of earlier deliveries', async () => {
    const history = { redeliveries: 2, failures: 2, calls: 6 };
    await bed.router().route(delivery({ history }), failed());
    expect(bed.sent).toEqual(['tier 1.1 after 9']);
  });

  it('dead-letters a record that cannot be read, whatever a classifier decides', async () => {
    bed.classification = { ...bed.classification, isExplicit: true };
    const error = new DeserializationException('x');
    await bed.router().route(delivery(), failed({ error, attempts: 0, reason: 'not-called' }));
    expect(bed.sent).toEqual(['NON_RETRYABLE deserialization after 0']);
  });

  it('pauses the binding for PAUSE_CONTAINER, and keeps the record', async () => {
    bed.classification = { ...bed.classification, decision: pauseContainer() };
    const outcome = await bed.router().route(delivery(), failed());
    expect(outcome).toMatchObject({ reason: 'redeliver', error: { message: 'down' } });
    expect(bed.paused).toEqual(['Error']);
  });

  it('waits for a decision with PAUSE_PARTITION', async () => {
    const outcome = await bed.router(STRICT).route(delivery(), failed());
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'awaiting-decision' });
  });

  it('discards a record that a dead-letter handler has seen to', async () => {
    bed.classification = { ...bed.classification, decision: deadLetter() };
    bed.accept = async () => 'discarded';
    expect(await bed.router().route(delivery(), failed())).toEqual({
      kind: 'discarded',
      reason: 'dlt-handler',
    });
  });

  it('dead-letters a record that is too large for its retry topic', async () => {
    bed.publish = () => Promise.reject(new RecordTooLargeForRetryError('t-1', new Error('1 MiB')));
    expect(await bed.router().route(delivery(), failed())).toEqual({
      kind: 'dead-lettered',
      reason: 'RETRIES_EXHAUSTED',
      cause: 'too-large-for-retry',
    });
  });

  it('keeps a record whose failure was routed already', async () => {
    const kept = await bed.router(STRICT).route(delivery(), failed());
    expect(await bed.router().route(delivery(), kept as never)).toBe(kept);
    expect(bed.sent).toEqual([]);
  });

  it('reports to the half-open detector only records that stay after a call', async () => {
    const { offset } = recordOf();
    bed.circuit = 'OPEN';
    const down = failed({ error: dependencyIsDown() });
    await bed.router().route(delivery(), down);
    await bed.router().route(delivery(), { ...down, attempts: 0 });
    await bed.router().route(delivery(), failed());
    expect(bed.halfOpenCalls).toEqual([`${offset} kept`]);
  });
});

describe('FailureObserver', () => {
  const main = { topic: recordOf().topic, tier: 0 };

  it('learns of the failure, and of the tier once that has the record', async () => {
    await bed.router().route(delivery(), failed({ error: new RangeError('no') }));
    expect(bed.observed).toEqual([
      ['failed', main, 'RangeError'],
      ['retried', main, 1],
    ]);
  });

  it('learns why a record was dead-lettered, and where it failed', async () => {
    bed.classification = { ...bed.classification, decision: deadLetter() };
    await bed.router({}, 1).route(delivery(), failed());
    await bed.router().routeWithoutCall(delivery({ history: { decision: 'dead-letter' } }));
    expect(bed.observed).toEqual([
      ['failed', { ...main, tier: 1 }, 'Error'],
      ['dead-lettered', { ...main, tier: 1 }, 'NON_RETRYABLE', expect.any(String)],
      ['dead-lettered', main, 'MANUAL', 'operator'],
    ]);
  });

  it('learns of a failure that stays in its place, by the class that a batch has wrapped', async () => {
    const cause = new RangeError('no');
    const error = new BatchProcessingException(0, 'the first', [], { cause });
    await bed.router().route(delivery(), failed({ error, reason: 'redeliver' }));
    expect(bed.observed).toEqual([['failed', main, 'RangeError']]);
  });

  it('learns of no dead letter that a handler has discarded, and of no skipped record', async () => {
    bed.classification = { ...bed.classification, decision: deadLetter() };
    bed.accept = async () => 'discarded';
    await bed.router().route(delivery(), failed());
    await bed.router().routeWithoutCall(delivery({ history: { decision: 'skip' } }));
    expect(bed.observed).toEqual([['failed', main, 'Error']]);
  });
});
