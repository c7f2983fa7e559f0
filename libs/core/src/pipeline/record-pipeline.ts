import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';
import { HandlerDiscoveryException } from '../errors/handler-errors.js';
import type { Deserializer } from '../model/extension-points/deserializer.js';
import type { RecordProcessor } from '../model/outcomes/outcome.js';
import { PrepareSliceStep } from './batches/prepare-slice-step.js';
import { eventTypeSource } from './decoding/event-type-source.js';
import { IdempotencyInterceptor } from './idempotency/idempotency-interceptor.js';
import type { PipelineStep, PreparationStep } from './pipeline-step.js';
import { checkSchemaVersion } from './preparation/check-schema-version.js';
import { decodeValue } from './preparation/decode-value.js';
import { filterRecord } from './preparation/filter-record.js';
import { Preparation } from './preparation/preparation.js';
import { PrepareRecordStep } from './preparation/prepare-record-step.js';
import { selectHandler } from './preparation/select-handler.js';
import { validatePayload } from './preparation/validate-payload.js';
import { RecordCall } from './record-call.js';
import { ResilienceDecorator } from './resilience/resilience-decorator.js';
import {
  RetryConfigFactory,
  withSeekMode,
  type RetryConfig,
} from './resilience/retry-config-factory.js';
import type { SlidingCircuitBreaker } from './resilience/sliding-circuit-breaker.js';
import { FailureRoutingStep, type FailureRouting } from './routing/failure-routing-step.js';
import { RecordTransactionStep } from './transactions/record-transaction-step.js';
import { SharedTransactionStep } from './transactions/shared-transaction-step.js';
import type { SliceTransactions } from './transactions/slice-transactions.js';

export interface RecordPipelineParts {
  readonly binding: ResolvedBinding;
  /** The handlers of this binding, as `handlersOf` picks them. */
  readonly handlers: readonly HandlerDefinition[];
  readonly deserializer: Deserializer;
  /** The topic that the records come from: 0 is the main topic, 1 the first retry topic. */
  readonly tier: number;
  /** Left out in tests that look at the failure itself. */
  readonly routing?: FailureRouting;
  /** Shared by the main topic and the retry topics. Left out if the binding has none. */
  readonly breaker?: SlidingCircuitBreaker | undefined;
  /** The transactions of the container. Left out if the binding has none. */
  readonly transactions?: SliceTransactions | undefined;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** The steps of a record. */
export interface RecordPipelineSteps {
  /** Steps around the call of the handler, from the outside to the inside. */
  readonly around: readonly StepAroundHandler[];
  /** Steps before each call of the handler, in order. A retry runs them again. */
  readonly preparation: readonly PreparationStep[];
  /** Creates the innermost step, which calls the handler. */
  readonly handler: (preparation: Preparation, retry: RetryConfig) => PipelineStep;
}

/** Puts a step around the rest of the pipeline. */
export type StepAroundHandler = (next: PipelineStep, preparation: Preparation) => PipelineStep;

/**
 * The steps of a record in their order. A step that the binding does not use is absent: it costs
 * nothing. To add a step, write it in a file of its own, and add a line here.
 */
export function recordPipelineSteps(parts: RecordPipelineParts): RecordPipelineSteps {
  const { binding, breaker, deserializer, logger, routing, runtime, tier, transactions } = parts;
  const { store } = binding.idempotency;
  const handlers = parts.handlers.map((handler) => withEnhancers(handler, binding));
  const eventTypeOf = eventTypeSource(binding.typeFrom);
  const receiver = { binding: binding.name, hostname: runtime.hostname() };
  return {
    around: present<StepAroundHandler>([
      routing && ((next) => new FailureRoutingStep(next, routing)),
      transactions && ((next) => new SharedTransactionStep(next, transactions, runtime)),
      (next, preparation) =>
        takesSlices(parts)
          ? new PrepareSliceStep(next, preparation)
          : new PrepareRecordStep(next, preparation),
      store !== 'none' && ((next) => new IdempotencyInterceptor(next, { binding, store, runtime })),
      // Inside the idempotency step: a mark before a commit that fails would lose the record.
      store !== 'none' && transactions && ((next) => new RecordTransactionStep(next, transactions)),
    ]),
    preparation: present([
      decodeValue(binding.name, deserializer),
      selectHandler(handlers, { binding, eventTypeOf, logger, tier }, receiver),
      filterRecord(handlers),
      checkSchemaVersion(binding),
      validatePayload(handlers),
    ]),
    // breaker(retry(handler))
    handler: (preparation, retry) =>
      new ResilienceDecorator({ binding: binding.name, breaker, retry, preparation, runtime }),
  };
}

/**
 * Creates everything between a delivery and its outcome. The result never throws, because a failure
 * is an outcome.
 */
export function createRecordPipeline(
  parts: RecordPipelineParts,
  steps = recordPipelineSteps(parts),
): RecordProcessor {
  const { binding, handlers, logger, routing, runtime, transactions } = parts;
  if (handlers.length === 0)
    throw new HandlerDiscoveryException([`Binding '${binding.name}' has no handler.`]);
  const retry = new RetryConfigFactory().create(binding, logger);
  const preparation = new Preparation({
    steps: steps.preparation,
    // The records of a batch handler are delivered again. A sleep would hold up the whole slice.
    retry: takesSlices(parts) ? withSeekMode(retry) : retry,
    runtime,
  });
  const first = steps.around.reduceRight(
    (next, around) => around(next, preparation),
    steps.handler(preparation, retry),
  );
  const { retryTopic } = routing ?? {};
  return {
    process: (delivery) => first.process(new RecordCall(delivery)),
    ...((takesSlices(parts) || transactions) && {
      processSlice: (slice) =>
        first.processSlice(slice.map((delivery) => new RecordCall(delivery))),
    }),
    ...(retryTopic && { dueAt: (record) => retryTopic.dueAt(record) }),
    ...(transactions && {
      open: (sessionIndex) => transactions.open(sessionIndex),
      close: (sessionIndex) => transactions.close(sessionIndex),
    }),
  };
}

function takesSlices({ handlers }: RecordPipelineParts): boolean {
  return handlers.some(({ form }) => form === 'slice');
}

function withEnhancers(handler: HandlerDefinition, binding: ResolvedBinding): HandlerDefinition {
  const { invokeWith } = handler;
  return binding.enhancers === 'local' || !invokeWith
    ? handler
    : { ...handler, invoke: invokeWith(binding.enhancers) };
}

/** Leaves out the steps that are absent. */
function present<T extends object>(steps: readonly (T | false | undefined)[]): readonly T[] {
  return steps.filter((step): step is T => typeof step === 'function');
}
