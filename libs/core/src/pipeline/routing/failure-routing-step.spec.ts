import type { BrokerRecord } from '@nest-event-bus/broker';
import { Deferred } from '@nest-event-bus/broker/runtime';
import type { Delivery } from '../../model/outcomes/delivery.js';
import {
  handedBack,
  settledOutcomes,
  succeeded,
  type Outcome,
  type SliceOutcome,
} from '../../model/outcomes/outcome.js';
import {
  aDelivery,
  aFailure,
  aRememberedFailure,
  type GivenDelivery,
} from '../../model/outcomes/outcomes.spec-support.js';
import { RecordCall } from '../record-call.js';
import type { PipelineStep } from '../pipeline-step.js';
import { FailureRoutingStep } from './failure-routing-step.js';
import { SkipForeignRecordsStep } from './skip-foreign-records-step.js';
import { recordOf } from '../../failures/report/failure-report-samples.spec-support.js';
import type { RetryTopicFilter } from '../../failures/retry-topics/retry-topic-filter.js';

const bad = aFailure({ reason: 'retry-exhausted', error: new Error('bad') });
const retried: Outcome = { kind: 'retried', tier: 1, delivery: 1 };
const lettered: Outcome = { kind: 'dead-lettered', reason: 'MANUAL', cause: 'operator' };

let handled: number[];
let routes: number[];

const router = {
  route: async ({ record }: Delivery): Promise<Outcome> => {
    routes.push(record.offset);
    return record.offset >= 90 ? bad : retried;
  },
  routeWithoutCall: async ({ record, history }: Delivery): Promise<Outcome> => {
    if (history.decision) return lettered;
    routes.push(record.offset);
    return record.offset >= 90 ? bad : retried;
  },
};

const retryTopic = {
  isForeign: ({ partition }: BrokerRecord) => partition === 99,
  dueAt: ({ offset }: BrokerRecord) => offset * 1_000,
} as unknown as RetryTopicFilter;

/** The two routing steps of a retry topic, in their order. */
const routingSteps = (next: PipelineStep): PipelineStep<SliceOutcome> =>
  new SkipForeignRecordsStep(new FailureRoutingStep(next, { router }), retryTopic);

const call = (offset: number, given: GivenDelivery = {}, partition = 0): RecordCall =>
  new RecordCall(aDelivery({ record: recordOf({ offset, partition }), ...given }));

const pendingWrite = {
  destination: { kind: 'retry', tier: 1, topic: 'orders.retry-1', delivery: 1 },
  report: aRememberedFailure(),
} as const;

beforeEach(() => {
  handled = [];
  routes = [];
});

describe('FailureRoutingStep, for one record', () => {
  const step = (answer: () => Outcome | Promise<Outcome>) =>
    routingSteps({
      process: ({ delivery }) => {
        handled.push(delivery.record.offset);
        return answer();
      },
      processSlice: () => [],
    });

  it('returns a success unchanged, and synchronously if the handler returned no promise', () => {
    expect(step(() => succeeded).process(call(1))).toBe(succeeded);
    expect(routes).toEqual([]);
  });

  it('routes a failure, synchronous or asynchronous', async () => {
    expect(await step(() => bad).process(call(1))).toBe(retried);
    expect(await step(async () => bad).process(call(2))).toBe(retried);
    expect(routes).toEqual([1, 2]);
  });

  it('returns the outcome of a record that was handed back unchanged', async () => {
    expect(await step(async () => handedBack).process(call(1))).toBe(handedBack);
  });

  it('discards a foreign record', () => {
    const outcome = step(() => succeeded).process(call(1, {}, 99));
    expect(outcome).toEqual({ kind: 'discarded', reason: 'foreign' });
    expect(handled).toEqual([]);
  });

  it('repeats a failed write without calling the handler', async () => {
    expect(await step(() => succeeded).process(call(1, { history: { pendingWrite } }))).toBe(
      retried,
    );
    expect([handled, routes]).toEqual([[], [1]]);
  });

  it('applies a decision of an operator without calling the handler', async () => {
    const decided = call(1, { history: { decision: 'dead-letter', pendingWrite } });
    expect(await step(() => succeeded).process(decided)).toBe(lettered);
    expect(handled).toEqual([]);
  });
});

describe('FailureRoutingStep, for a slice', () => {
  class Slices implements PipelineStep {
    readonly seen: number[][] = [];
    process = (): Outcome => succeeded;
    constructor(private readonly answer: (offset: number) => Outcome) {}

    async processSlice(slice: readonly RecordCall[]): Promise<readonly Outcome[]> {
      const offsets = slice.map(({ delivery }) => delivery.record.offset);
      this.seen.push(offsets);
      const outcomes = offsets.map((offset) => this.answer(offset));
      const end = outcomes.findIndex(({ kind }) => kind === 'failed');
      return outcomes.map((outcome, index) => (end === -1 || index <= end ? outcome : handedBack));
    }
  }

  const run = async (next: PipelineStep, slice: readonly RecordCall[]) =>
    settledOutcomes(await routingSteps(next).processSlice(slice));

  /** Processes a slice segment by segment, as a lane does. */
  const segmentsOf = async (next: PipelineStep, slice: readonly RecordCall[]) => {
    const segments: (readonly Outcome[])[] = [];
    for (let rest = slice; rest.length > 0; rest = rest.slice(segments.at(-1)!.length))
      segments.push(await run(next, rest));
    return segments.map((segment) => segment.map(({ kind }) => kind));
  };

  it('passes the whole slice to the handler if no record needs routing', async () => {
    const inner = new Slices(() => succeeded);
    expect(
      await run(
        inner,
        [1, 2, 3].map((offset) => call(offset)),
      ),
    ).toEqual([succeeded, succeeded, succeeded]);
    expect(inner.seen).toEqual([[1, 2, 3]]);
  });

  it('returns after a routed record, so that the records after it can be passed on at once', async () => {
    const inner = new Slices((offset) => (offset === 2 ? bad : succeeded));
    const slice = [1, 2, 3, 4].map((offset) => call(offset));
    expect(await run(inner, slice)).toEqual([succeeded, retried]);
    expect(await run(inner, slice.slice(2))).toEqual([succeeded, succeeded]);
  });

  it.each<[string, Outcome]>([
    ['was handed back with a delay', { kind: 'handed-back', delayMs: 50 }],
    ['has failed and is redelivered', bad],
  ])('ends the slice after a routed record at the next one that %s', async (_, staying) => {
    const answers = [bad, handedBack, staying, handedBack];
    const inner = { process: () => succeeded, processSlice: () => answers };
    const slice = [1, 2, 90, 3].map((offset) => call(offset));
    expect(await run(inner, slice)).toEqual([retried, handedBack, staying, handedBack]);
  });

  it('ends the slice at a failure that the router hands back instead of writing', async () => {
    const inner = { process: () => succeeded, processSlice: () => [succeeded, bad, handedBack] };
    const giving = { ...router, route: async () => handedBack };
    const slice = [1, 2, 3].map((offset) => call(offset));
    const outcomes = await new FailureRoutingStep(inner, { router: giving }).processSlice(slice);
    expect(outcomes).toEqual([succeeded, handedBack, handedBack]);
  });

  it('keeps the outcome of records that the handler handed back, if none has failed', async () => {
    const answers = [succeeded, handedBack, handedBack];
    const inner = { process: () => succeeded, processSlice: () => answers };
    const slice = [1, 2, 3].map((offset) => call(offset));
    expect(await run(inner, slice)).toEqual(answers);
  });

  it('reports discarded records, and records that succeed after earlier failures, if no record has failed', async () => {
    const told: string[] = [];
    const telling = {
      ...router,
      onDiscarded: ({ record }: Delivery) => void told.push(`discarded ${record.offset}`),
      onSucceeded: ({ record }: Delivery) => void told.push(`recovered ${record.offset}`),
    };
    const filtered: Outcome = { kind: 'discarded', reason: 'filtered' };
    const inner = {
      process: () => succeeded,
      processSlice: () => [succeeded, filtered],
    };
    const slice = [call(1, { history: { failures: 1 } }), call(2)];
    void (await new FailureRoutingStep(inner, { router: telling }).processSlice(slice));
    expect(told).toEqual(['recovered 1', 'discarded 2']);
  });

  it('returns before a topic has acknowledged the record if records may be handled ahead', async () => {
    const acknowledged = new Deferred<Outcome>();
    const writing = { ...router, route: () => acknowledged.promise };
    const inner = { process: () => succeeded, processSlice: () => [succeeded, bad, handedBack] };
    const slice = [1, 2, 3].map((offset) => call(offset));
    const ahead = new FailureRoutingStep(inner, { router: writing }, true);
    const [first, second, ...others] = await ahead.processSlice(slice);
    expect([first, others]).toEqual([succeeded, []]);
    acknowledged.resolve(retried);
    expect(await second).toBe(retried);
  });

  it('ends the slice at a record that is redelivered', async () => {
    const inner = new Slices((offset) => (offset === 91 ? bad : succeeded));
    const slice = [90, 91, 92].map((offset) => call(offset));
    expect(await run(inner, slice)).toEqual([succeeded, bad, handedBack]);
  });

  it('does not pass foreign records and records with a pending write to the handler', async () => {
    const inner = new Slices(() => succeeded);
    const slice = [
      call(1),
      call(2, {}, 99),
      call(3, { history: { pendingWrite } }),
      call(4),
      call(5),
      call(95, { history: { pendingWrite } }),
      call(96),
    ];
    expect(await segmentsOf(inner, slice)).toEqual([
      ['succeeded'],
      ['discarded'],
      ['retried'],
      ['succeeded', 'succeeded'],
      ['failed'],
      ['succeeded'],
    ]);
    expect(inner.seen).toEqual([[1], [4, 5], [96]]);
  });

  it('calls the handler again with the rest of the slice if it returned fewer outcomes than records', async () => {
    const inner = {
      process: () => succeeded,
      processSlice: ([first]: readonly RecordCall[]) => [
        first!.delivery.record.offset === 1 ? bad : succeeded,
      ],
    };
    const slice = [1, 2, 3].map((offset) => call(offset));
    expect(await segmentsOf(inner, slice)).toEqual([['retried'], ['succeeded'], ['succeeded']]);
  });

  it('returns no outcome if the handler returned none', async () => {
    const inner = { process: () => succeeded, processSlice: () => [] };
    expect(await run(inner, [call(1), call(2)])).toEqual([]);
  });
});
