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
  it('writes a failed record to the next tier, after which the record counts as finished', async () => {
    const outcome = await bed.router().route(delivery(), failed());
    expect(outcome).toEqual({ kind: 'retried', tier: 1, delivery: 1 });
    expect(bed.sent).toEqual(['tier 1.1 after 3']);
  });

  it.each([
    ['has calls left', failed({ reason: 'redeliver' })],
    ['was refused by a guard', failed({ error: new HandlerRefusedException('no') })],
  ])('redelivers a record on its own topic if it %s', async (_, failure) => {
    const { error, attempts } = failure;
    expect(await bed.router().route(delivery(), failure)).toMatchObject({
      kind: 'failed',
      reason: 'redeliver',
      error,
      attempts,
    });
    expect(bed.sent).toEqual([]);
  });

  it('adds the calls of earlier deliveries to those of this one', async () => {
    const history = { redeliveries: 2, failures: 2, calls: 6 };
    await bed.router().route(delivery({ history }), failed());
    expect(bed.sent).toEqual(['tier 1.1 after 9']);
  });

  it('dead-letters a record that cannot be deserialized, whatever a classifier decides', async () => {
    bed.classification = { ...bed.classification, isExplicit: true };
    const error = new DeserializationException('x');
    await bed.router().route(delivery(), failed({ error, attempts: 0, reason: 'not-called' }));
    expect(bed.sent).toEqual(['NON_RETRYABLE deserialization after 0']);
  });

  it('pauses the binding for PAUSE_CONTAINER, and redelivers the record', async () => {
    bed.classification = { ...bed.classification, decision: pauseContainer() };
    const outcome = await bed.router().route(delivery(), failed());
    expect(outcome).toMatchObject({ reason: 'redeliver', error: { message: 'down' } });
    expect(bed.paused).toEqual(['Error']);
  });

  it('waits for a decision of an operator with PAUSE_PARTITION', async () => {
    const outcome = await bed.router(STRICT).route(delivery(), failed());
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'awaiting-decision' });
  });

  it('discards a record that a dead-letter handler has discarded', async () => {
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

  it('returns the same outcome for a failure that was routed already', async () => {
    const kept = await bed.router(STRICT).route(delivery(), failed());
    expect(await bed.router().route(delivery(), kept as never)).toBe(kept);
    expect(bed.sent).toEqual([]);
  });

  it('reports to HalfOpenBlockerDetector only records that are redelivered after a handler call', async () => {
    const { offset } = recordOf();
    bed.circuit = 'OPEN';
    const down = failed({ error: dependencyIsDown() });
    await bed.router().route(delivery(), down);
    await bed.router().route(delivery(), { ...down, attempts: 0 });
    await bed.router().route(delivery(), failed());
    expect(bed.halfOpenCalls).toEqual([`${offset} kept`]);
  });
});

describe('FailureRouter', () => {
  const main = { topic: recordOf().topic, partition: recordOf().partition };

  it('emits the failure before the write, and the retry after the write', async () => {
    bed.publish = async () => expect(bed.events).toMatchObject([{ name: 'record.failed' }]);
    await bed.router().route(delivery(), failed({ error: new RangeError('no') }));
    const dueAt = bed.runtime.now() + 1_000;
    expect(bed.events).toMatchObject([
      {
        name: 'record.failed',
        record: main,
        attempt: { call: 3, delivery: 1, tier: 0, total: 3 },
        exception: { className: 'RangeError', message: 'no' },
        next: { kind: 'retry', topic: 't-1', tier: 1, delivery: 1, dueAt },
        isFinal: false,
      },
      { name: 'record.retried', record: main, topic: 't-1', tier: 1, delivery: 1, dueAt },
    ]);
  });

  it('emits why a record was dead-lettered, and on which topic it failed', async () => {
    bed.classification = { ...bed.classification, decision: deadLetter() };
    await bed.router({}, 1).route(delivery(), failed());
    const letter = { topic: 'orders.DLT', reason: 'NON_RETRYABLE', cause: 'routing' };
    expect(bed.events).toMatchObject([
      { name: 'record.failed', next: { kind: 'dead-letter', ...letter }, isFinal: true },
      { name: 'record.dead-lettered', record: main, attempt: { tier: 1 }, ...letter },
    ]);
  });

  it('emits no failure if an operator dead-letters a record', async () => {
    await bed.router().routeWithoutCall(delivery({ history: { decision: 'dead-letter' } }));
    expect(bed.events).toMatchObject([
      { name: 'record.dead-lettered', reason: 'MANUAL', cause: 'operator' },
    ]);
  });

  it('emits a redelivery when its lane knows the delay, with the class of the error that a batch error wraps', async () => {
    const cause = new RangeError('no');
    const error = new BatchProcessingException(0, 'the first', [], { cause });
    const outcome = await bed.router().route(delivery(), failed({ error, reason: 'redeliver' }));
    expect(bed.events).toEqual([]);
    (outcome as { onRedelivery(inMs: number): void }).onRedelivery(700);
    expect(bed.events).toMatchObject([
      {
        name: 'record.failed',
        exception: { className: 'RangeError' },
        next: { kind: 'redeliver', inMs: 700 },
        isFinal: false,
      },
    ]);
  });

  it('emits the failure of a call after which the handler is called again', async () => {
    const again = { call: 2, of: 3, inMs: 200 };
    bed.router().onCallFailed(delivery(), failed({ attempts: 1, reason: 'redeliver' }), again);
    expect(bed.events).toMatchObject([
      {
        name: 'record.failed',
        attempt: { call: 1, total: 1 },
        next: { kind: 'call-again', ...again },
      },
    ]);
  });

  it('emits that a record waits for a decision, or has paused its binding', async () => {
    await bed.router(STRICT).route(delivery(), failed());
    bed.classification = { ...bed.classification, decision: pauseContainer() };
    await bed.router().route(delivery(), failed());
    expect(bed.events).toMatchObject([
      { next: { kind: 'wait-for-decision' }, isFinal: true },
      { next: { kind: 'pause-binding' }, isFinal: true },
    ]);
  });

  it('emits that a dead-letter handler has discarded a record, or that an operator has skipped it', async () => {
    bed.classification = { ...bed.classification, decision: deadLetter() };
    bed.accept = async () => 'discarded';
    await bed.router().route(delivery(), failed());
    await bed.router().routeWithoutCall(delivery({ history: { decision: 'skip' } }));
    expect(bed.events).toMatchObject([
      { name: 'record.failed', next: { kind: 'discard' }, isFinal: true },
      { name: 'record.discarded', reason: 'dlt-handler' },
      { name: 'record.discarded', reason: 'skipped' },
    ]);
  });

  it('emits a recovery only if the record had failed before', () => {
    const router = bed.router();
    router.onSucceeded(delivery(), 0);
    router.onSucceeded(delivery({ history: { redeliveries: 1 } }), 0);
    expect(bed.events).toEqual([]);
    router.onSucceeded(delivery({ history: { failures: 1, calls: 3 } }), 1);
    expect(bed.events).toMatchObject([
      { name: 'record.recovered', attempt: { call: 2, delivery: 2, tier: 0, total: 5 } },
    ]);
  });
});
