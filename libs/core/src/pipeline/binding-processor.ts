import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../config/resolving/resolved-binding.js';
import type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';
import { HandlerDiscoveryException } from '../errors/handler-errors.js';
import type { Delivery } from '../model/outcomes/delivery.js';
import type { Deserializer } from '../model/extension-points/deserializer.js';
import { handedBack, type Outcome, type RecordProcessor } from '../model/outcomes/outcome.js';
import type { HandlerStep } from './dispatch/handler-step.js';
import { IdempotencyInterceptor } from './idempotency/idempotency-interceptor.js';
import { jsonDeserializer } from './decoding/plain-formats.js';
import { Preparation, type Prepared } from './dispatch/preparation.js';
import { isPromiseLike } from './is-promise-like.js';
import { PreparationRetry } from './resilience/preparation-retry.js';
import type { ResilienceDecorator } from './resilience/resilience-decorator.js';
import { withSeekMode, RetryConfigFactory } from './resilience/retry-config-factory.js';
import { SliceProcessor } from './dispatch/slice-processor.js';
import { failedWith } from './to-error.js';
import type { SliceTransactions } from './transactions/slice-transactions.js';
import { TransactionStep } from './transactions/transaction-step.js';
import { TransactionalProcessor } from './transactions/transactional-processor.js';

export interface BindingProcessorOptions {
  readonly binding: ResolvedBinding;
  /** Those of this binding: `handlersOf` picks them. */
  readonly handlers: readonly HandlerDefinition[];
  /** What is done about a call of a handler that fails. */
  readonly resilience: ResilienceDecorator;
  /** Where the records come from: 0, the main topic, unless it says something else. */
  readonly tier?: number;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** Default: JSON. */
  readonly deserializer?: Deserializer;
  /** Of the container whose records these are. Left out where the binding has none. */
  readonly transactions?: SliceTransactions;
}

/** Everything between a delivery and its outcome. Handlers of batches get whole slices. */
export function createBindingProcessor({
  binding,
  handlers,
  resilience,
  tier = 0,
  runtime,
  logger,
  deserializer = jsonDeserializer,
  transactions,
}: BindingProcessorOptions): RecordProcessor {
  if (handlers.length === 0) {
    throw new HandlerDiscoveryException([`Binding '${binding.name}' has no handler.`]);
  }
  const preparation = new Preparation({
    binding,
    handlers: handlers.map((handler) => withEnhancers(handler, binding)),
    deserializer,
    tier,
    runtime,
    logger,
  });
  const step = withIdempotency(resilience, { binding, runtime, transactions });
  const isOfSlices = handlers.some(({ form }) => form === 'slice');
  const config = new RetryConfigFactory().create(binding, logger);
  const retry = new PreparationRetry(
    isOfSlices ? withSeekMode(config) : config,
    preparation,
    runtime,
  );
  const processor = isOfSlices
    ? new SliceProcessor(preparation, step, retry)
    : new BindingProcessor(preparation, step, retry);
  return transactions ? new TransactionalProcessor(processor, transactions, runtime) : processor;
}

/** Where nobody asked for it, it is not there. */
function withIdempotency(
  step: HandlerStep,
  {
    binding,
    runtime,
    transactions,
  }: Pick<BindingProcessorOptions, 'binding' | 'runtime' | 'transactions'>,
): HandlerStep {
  const { store } = binding.idempotency;
  if (store === 'none') return step;
  const next = transactions ? new TransactionStep(step, transactions) : step;
  return new IdempotencyInterceptor({ binding, store, runtime }, next);
}

function withEnhancers(handler: HandlerDefinition, binding: ResolvedBinding): HandlerDefinition {
  const { invokeWith } = handler;
  return binding.enhancers === 'local' || !invokeWith
    ? handler
    : { ...handler, invoke: invokeWith(binding.enhancers) };
}

/** Never throws: whatever goes wrong is the outcome of the record. Where nothing is asynchronous and nothing fails, it returns no promise. */
class BindingProcessor implements RecordProcessor {
  constructor(
    private readonly preparation: Preparation,
    private readonly step: HandlerStep,
    private readonly retry: PreparationRetry,
  ) {}

  process(delivery: Delivery): Outcome | Promise<Outcome> {
    let prepared: Prepared | Promise<Prepared>;
    try {
      prepared = this.preparation.prepare(delivery);
    } catch (error) {
      prepared = this.retry.retryAfter(error, delivery);
    }
    return isPromiseLike(prepared) ? this.#invokeLater(delivery, prepared) : this.#invoke(prepared);
  }

  /** What escapes is a failure of the record: left to intake, it would come again for ever. */
  #invoke(prepared: Prepared): Outcome | Promise<Outcome> {
    if (prepared.kind !== 'ready') return prepared;
    try {
      return this.step.invoke(prepared, this.preparation);
    } catch (error) {
      return failedWith(error);
    }
  }

  async #invokeLater(delivery: Delivery, preparing: Promise<Prepared>): Promise<Outcome> {
    let prepared: Prepared;
    try {
      prepared = await preparing;
    } catch (error) {
      prepared = await this.retry.retryAfter(error, delivery);
    }
    // That may take its time, and a pause promises that nothing reaches a handler after it.
    if (delivery.isCancelled) return handedBack;
    try {
      return await this.#invoke(prepared);
    } catch (error) {
      return failedWith(error);
    }
  }
}
