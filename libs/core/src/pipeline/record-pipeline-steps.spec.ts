import { Deferred, VirtualRuntime } from '@nest-event-bus/broker/runtime';
import { EVENTBUS_DEFAULTS } from '../config/defaults.js';
import { BatchProcessingException } from '../errors/handler-errors.js';
import { succeeded, type Outcome } from '../model/outcomes/outcome.js';
import { memoryIdempotencyStore } from './idempotency/memory-idempotency-store.js';
import type { PipelineStep } from './pipeline-step.js';
import {
  batchHandler,
  bindingOf,
  deliveryOf,
  handler,
  pipelineParts,
  processorOf,
  retryOf,
} from './pipeline.spec-support.js';
import type { Preparation } from './preparation/preparation.js';
import type { RecordCall } from './record-call.js';
import {
  recordPipelineSteps,
  type RecordPipelineParts,
  type StepAroundHandler,
} from './record-pipeline.js';
import type { FailureRouting } from './routing/failure-routing-step.js';
import type { SliceTransactions } from './transactions/slice-transactions.js';

const keep = handler(() => undefined);
const routing: FailureRouting = {
  router: { route: async () => succeeded, routeWithoutCall: async () => succeeded },
  retryTopic: { isForeign: () => false, dueAt: ({ offset }) => offset * 1_000 },
};
const everything: Partial<RecordPipelineParts> = {
  binding: bindingOf({
    idempotency: { ...EVENTBUS_DEFAULTS.binding.idempotency, store: memoryIdempotencyStore() },
    schemaVersion: { from: 'schema-version', supported: ['1'] },
  }),
  routing,
  transactions: { settle: async () => [] } as unknown as SliceTransactions,
};

/** Counts outcomes. An example of a step that a contributor could add. */
class CountingStep implements PipelineStep {
  readonly counted: string[] = [];

  constructor(private readonly next: PipelineStep) {}

  async process(call: RecordCall): Promise<Outcome> {
    const outcome = await this.next.process(call);
    this.counted.push(outcome.kind);
    return outcome;
  }

  async processSlice(slice: readonly RecordCall[]): Promise<readonly Outcome[]> {
    const outcomes = await this.next.processSlice(slice);
    this.counted.push(...outcomes.map(({ kind }) => kind));
    return outcomes;
  }
}

describe('recordPipelineSteps', () => {
  const namesOf = (around: readonly StepAroundHandler[]): readonly string[] => {
    const next = {} as PipelineStep;
    return around.map((step) => step(next, {} as Preparation).constructor.name);
  };

  it('lists the steps around the handler from the outermost to the innermost', () => {
    expect(namesOf(recordPipelineSteps(pipelineParts([keep], everything)).around)).toEqual([
      'SkipForeignRecordsStep',
      'ReplayedRecordsStep',
      'FailureRoutingStep',
      'SharedTransactionStep',
      'PrepareRecordStep',
      'IdempotencyInterceptor',
      'RecordTransactionStep',
    ]);
  });

  it('lists the same steps for a batch handler, which gets its records as a slice', () => {
    const parts = pipelineParts([batchHandler(() => undefined)], { routing });
    expect(namesOf(recordPipelineSteps(parts).around)).toEqual([
      'SkipForeignRecordsStep',
      'ReplayedRecordsStep',
      'FailureRoutingStep',
      'PrepareSliceStep',
    ]);
  });

  it('leaves out the steps that the binding does not use', () => {
    const { around, preparation } = recordPipelineSteps(pipelineParts([keep]));
    expect(namesOf(around)).toEqual(['ReplayedRecordsStep', 'PrepareRecordStep']);
    // The two steps decode the value and select the handler.
    expect(preparation).toHaveLength(2);
  });

  it('has one preparation step for each option of the handler or the binding that needs one', () => {
    const asking = handler(() => undefined, { filter: () => true, payload: class {} });
    const { preparation } = recordPipelineSteps(pipelineParts([asking], everything));
    expect(preparation).toHaveLength(5);
  });
});

describe('createRecordPipeline', () => {
  const withCounting = (of: typeof keep) => {
    const steps = recordPipelineSteps(pipelineParts([of]));
    const added: CountingStep[] = [];
    const counting: StepAroundHandler = (next) => {
      const step = new CountingStep(next);
      added.push(step);
      return step;
    };
    const processor = processorOf([of], {}, { ...steps, around: [counting, ...steps.around] });
    return { processor, counted: added[0]!.counted };
  };

  it('runs a step around the handler that is added to the list', async () => {
    const { processor, counted } = withCounting(keep);
    await processor.process(deliveryOf());
    await processor.process(deliveryOf({ value: Buffer.from('no JSON') }));
    expect(counted).toEqual(['succeeded', 'failed']);
  });

  it('runs an added step for the slices of a batch handler', async () => {
    const { processor, counted } = withCounting(batchHandler(() => undefined));
    const slice = [deliveryOf({ offset: 1 }), deliveryOf({ offset: 2 })];
    void (await processor.processSlice!(slice));
    expect(counted).toEqual(['succeeded', 'succeeded']);
  });

  it('runs a preparation step that is added to the list before each call of the handler', async () => {
    const handled: unknown[] = [];
    const failing = handler(({ value }) => {
      handled.push(value);
      throw new Error('boom');
    });
    const runtime = new VirtualRuntime({ startAt: deliveryOf().receivedAt });
    const binding = bindingOf({ retry: retryOf({ maxAttempts: 2 }) });
    const steps = recordPipelineSteps(pipelineParts([failing], { binding, runtime }));
    const replace = (call: RecordCall) => {
      call.value = `call ${call.number}`;
      return undefined;
    };
    const [decode, ...others] = steps.preparation;
    const preparation = [decode!, replace, ...others];
    const processor = processorOf([failing], { binding, runtime }, { ...steps, preparation });
    const outcome = processor.process(deliveryOf());
    await runtime.advance(1_000);
    expect(await outcome).toMatchObject({ kind: 'failed', attempts: 2 });
    expect(handled).toEqual(['call 1', 'call 2']);
  });

  it('ends the pipeline at a preparation step that returns an outcome', () => {
    const steps = recordPipelineSteps(pipelineParts([keep]));
    const discarded: Outcome = { kind: 'discarded', reason: 'too old' };
    const preparation = [...steps.preparation, () => discarded];
    const processor = processorOf([keep], {}, { ...steps, preparation });
    expect(processor.process(deliveryOf())).toBe(discarded);
  });

  it('has dueAt() for a retry topic, and none for the main topic', () => {
    const { record } = deliveryOf({ offset: 5 });
    expect(processorOf([keep], { routing }).dueAt?.(record, 0)).toBe(5_000);
    expect(processorOf([keep]).dueAt).toBeUndefined();
  });
});

describe('A batch whose failed record is being written to another topic', () => {
  let written: Deferred<Outcome>;
  const writing: FailureRouting = {
    router: { route: () => written.promise, routeWithoutCall: async () => succeeded },
  };
  const slice = [1, 2].map((offset) => deliveryOf({ offset }));
  const fails = batchHandler(() => {
    throw new BatchProcessingException(0, 'bad');
  });
  const settle = async (handled: readonly { readonly outcome: Outcome }[]) =>
    handled.map(({ outcome }) => outcome);
  const transactions = { settle } as unknown as SliceTransactions;

  beforeEach(() => {
    written = new Deferred<Outcome>();
  });

  it.each<[string, boolean, Partial<RecordPipelineParts>]>([
    ['continues', true, {}],
    [
      'waits with STRICT ordering, so that no record overtakes it',
      false,
      { binding: bindingOf({ orderingMode: 'STRICT' }) },
    ],
    ['waits with transactions, which commit offsets', false, { transactions }],
  ])('%s', async (_, continues, parts) => {
    const processor = processorOf([fails], { routing: writing, ...parts });
    let hasAnswered = false;
    const answer = Promise.resolve(processor.processSlice!(slice)).then(() => (hasAnswered = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect(hasAnswered).toBe(continues);
    written.resolve(succeeded);
    await answer;
  });
});
