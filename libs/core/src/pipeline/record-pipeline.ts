import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';
import { HandlerDiscoveryException } from '../errors/handler-errors.js';
import type { RecordTracing } from '../model/extension-points/event-bus-tracer.js';
import type { Deserializer } from '../model/extension-points/deserializer.js';
import type { Delivery } from '../model/outcomes/delivery.js';
import type { RecordProcessor, SliceOutcome } from '../model/outcomes/outcome.js';
import type { ReplayOutcomes } from '../model/outcomes/replay-outcomes.js';
import type { MdcContextPropagator } from '../logging/mdc-context-propagator.js';
import { OrderingMode } from '../model/states/ordering-mode.js';
import { withProducerHeaders } from '../model/records/archived-headers.js';
import type { OngoingProblems } from '../problems/ongoing-problems.js';
import { PrepareSliceStep } from './batches/prepare-slice-step.js';
import { HandlerProblems } from './context/handler-problems.js';
import { eventTypeSource } from './decoding/event-type-source.js';
import { FirstRecordLogContextStep, LogContextStep } from './logging/log-context-step.js';
import { LogContexts } from './logging/log-contexts.js';
import { IdempotencyInterceptor } from './idempotency/idempotency-interceptor.js';
import type { PipelineStep, PreparationStep } from './pipeline-step.js';
import { checkSchemaVersion } from './preparation/check-schema-version.js';
import { decodeKey } from './preparation/decode-key.js';
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
import { ReplayedRecordsStep } from './routing/replayed-records-step.js';
import { SkipForeignRecordsStep } from './routing/skip-foreign-records-step.js';
import { TracingStep } from './tracing/tracing-step.js';
import { RecordTransactionStep } from './transactions/record-transaction-step.js';
import { SharedTransactionStep } from './transactions/shared-transaction-step.js';
import type { SliceTransactions } from './transactions/slice-transactions.js';

export interface RecordPipelineParts {
  readonly binding: ResolvedBinding;
  /** The handlers of this binding, as returned by `handlersOf`. */
  readonly handlers: readonly HandlerDefinition[];
  readonly deserializer: Deserializer;
  /** Absent if keys are text or a Buffer, which needs no step. */
  readonly keyDeserializer?: Deserializer | undefined;
  /**
   * The tier of the topic from which the records come: 0 is the main topic, 1 the first retry
   * topic.
   */
  readonly tier: number;
  /** Failure routing. Omitted in tests that check the failure itself. */
  readonly routing?: FailureRouting;
  /**
   * The circuit breaker, which the main topic and the retry topics share. Omitted if the binding
   * has none.
   */
  readonly breaker?: SlidingCircuitBreaker | undefined;
  /** The transactions of the container. Omitted if the binding has none. */
  readonly transactions?: SliceTransactions | undefined;
  /** Traces the records. Omitted if nothing is traced. */
  readonly tracing?: RecordTracing | undefined;
  /** Carries the context of a record to log lines. Omitted if `logContext` is disabled. */
  readonly logContext?: Pick<MdcContextPropagator, 'isRead' | 'run'> | undefined;
  /** Takes the outcomes of replayed records. Omitted if they are not stored. */
  readonly replayOutcomes?: ReplayOutcomes | undefined;
  /** Problems of the binding that last. */
  readonly problems: Pick<OngoingProblems, 'report'>;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
}

/** The steps of a record. */
export interface RecordPipelineSteps {
  /** Steps around the handler call, from the outermost to the innermost. */
  readonly around: readonly StepAroundHandler[];
  /** Steps before each handler call, in order. A retry runs them again. */
  readonly preparation: readonly PreparationStep[];
  /** Creates the innermost step, which calls the handler. */
  readonly handler: (preparation: Preparation, retry: RetryConfig) => PipelineStep;
}

/** Creates a step around `next`, which contains all later steps of the pipeline. */
export type StepAroundHandler = (
  next: PipelineStep,
  preparation: Preparation,
) => PipelineStep<SliceOutcome>;

/**
 * Returns the steps of a record in their order. A step that the binding does not use is absent and
 * costs nothing. To add a step, write it in its own file, and add a line to this function.
 */
export function recordPipelineSteps(parts: RecordPipelineParts): RecordPipelineSteps {
  const { binding, breaker, deserializer, keyDeserializer, logger } = parts;
  const { replayOutcomes: outcomes, routing, runtime, tier, transactions } = parts;
  const { tracing } = parts;
  const { store } = binding.idempotency;
  const handlers = parts.handlers.map((handler) => withEnhancers(handler, binding));
  const eventTypeOf = eventTypeSource(binding.typeFrom);
  const problems = new HandlerProblems(binding, parts.problems);
  const receiver = { binding: binding.name, hostname: runtime.hostname() };
  const { retryTopic } = routing ?? {};
  const logContexts = logContextsOf(parts);
  return {
    around: present<StepAroundHandler>([
      logContexts && ((next) => new LogContextStep(next, logContexts)),
      retryTopic && ((next) => new SkipForeignRecordsStep(next, retryTopic)),
      (next) => new ReplayedRecordsStep(next, { groupId: binding.groupId, tier, outcomes }),
      tracing && ((next) => new TracingStep(next, tracing.tracer, tracing.container)),
      routing && ((next) => new FailureRoutingStep(next, routing, mayHandleAhead(parts))),
      transactions && ((next) => new SharedTransactionStep(next, transactions, runtime)),
      logContexts &&
        transactions &&
        !takesSlices(parts) &&
        ((next) => new FirstRecordLogContextStep(next, logContexts)),
      (next, preparation) =>
        takesSlices(parts)
          ? new PrepareSliceStep(next, preparation)
          : new PrepareRecordStep(next, preparation),
      store !== 'none' && ((next) => new IdempotencyInterceptor(next, { binding, store, runtime })),
      // The step is inside the idempotency step: a mark before a commit that fails would lose the
      // record.
      store !== 'none' && transactions && ((next) => new RecordTransactionStep(next, transactions)),
    ]),
    preparation: present([
      decodeValue(binding.name, deserializer),
      keyDeserializer && decodeKey(binding.name, keyDeserializer),
      selectHandler(
        handlers,
        { binding, eventTypeOf, problems, logger, tier, logContexts },
        receiver,
      ),
      filterRecord(handlers),
      checkSchemaVersion(binding),
      validatePayload(handlers),
    ]),
    // breaker(retry(handler))
    handler: (preparation, retry) =>
      new ResilienceDecorator({
        binding: binding.name,
        breaker,
        retry,
        preparation,
        runtime,
        failures: routing?.router,
        logContexts,
      }),
  };
}

/**
 * Creates the pipeline from a delivery to its outcome. The result never throws, because a failure
 * is an outcome.
 */
export function createRecordPipeline(
  parts: RecordPipelineParts,
  steps = recordPipelineSteps(parts),
): RecordProcessor {
  const { binding, handlers, logger, routing, runtime, tier, transactions } = parts;
  if (handlers.length === 0)
    throw new HandlerDiscoveryException([
      `Binding '${binding.name}' has no handler. Write a method with @EventHandler('${binding.name}').`,
    ]);
  const retry = new RetryConfigFactory().create(binding, logger);
  const preparation = new Preparation({
    steps: steps.preparation,
    // Records of a batch handler are redelivered instead of waiting in the pipeline, because a wait
    // would delay the whole slice.
    // DLQ_AND_CONTINUE limits the calls of the handler only, so that an outage of a database or a
    // registry dead-letters no record at its first attempt.
    retry: {
      ...(takesSlices(parts) ? withSeekMode(retry) : retry),
      maxAttempts: binding.retry.tier0.maxAttempts,
    },
    runtime,
  });
  // Only the failure routing returns promises for the records of a slice. The step around it passes
  // these promises on to the lane.
  const first = steps.around.reduceRight<PipelineStep<SliceOutcome>>(
    (next, around) => around(next as PipelineStep, preparation),
    steps.handler(preparation, retry),
  );
  const { retryTopic } = routing ?? {};
  const callOf = tier === 0 ? newCall : newCallInRetryTopic;
  return {
    process: (delivery) => first.process(callOf(delivery)),
    ...((takesSlices(parts) || transactions) && {
      processSlice: (slice) => first.processSlice(slice.map(callOf)),
    }),
    ...(retryTopic && { dueAt: (record, readAt) => retryTopic.dueAt(record, readAt) }),
    ...(transactions && {
      open: (sessionIndex) => transactions.open(sessionIndex),
      close: (sessionIndex) => transactions.close(sessionIndex),
    }),
  };
}

const newCall = (delivery: Delivery): RecordCall => new RecordCall(delivery);

const newCallInRetryTopic = (delivery: Delivery): RecordCall =>
  new RecordCall(delivery, 1, withProducerHeaders(delivery.record));

function takesSlices({ handlers }: RecordPipelineParts): boolean {
  return handlers.some(({ form }) => form === 'slice');
}

function logContextsOf({ binding, logContext, runtime, tier }: RecordPipelineParts) {
  const ofTier = binding.retry.tiers.find(({ number }) => number === tier);
  const { groupId } = ofTier ?? binding;
  const container = { binding: binding.name, groupId, hostname: runtime.hostname(), tier };
  return logContext && new LogContexts(logContext, container);
}

function withEnhancers(handler: HandlerDefinition, binding: ResolvedBinding): HandlerDefinition {
  const { invokeWith } = handler;
  return binding.enhancers === 'local' || !invokeWith
    ? handler
    : { ...handler, invoke: invokeWith(binding.enhancers) };
}

/**
 * Returns whether a batch may continue while a failed record is being written to another topic. With
 * STRICT ordering no record overtakes another, and a transaction would commit past that record.
 */
function mayHandleAhead({ binding, transactions }: RecordPipelineParts): boolean {
  return binding.orderingMode !== OrderingMode.STRICT && !transactions;
}

/** Omits the steps that are absent. */
function present<T extends object>(steps: readonly (T | false | undefined)[]): readonly T[] {
  return steps.filter((step): step is T => typeof step === 'function');
}
