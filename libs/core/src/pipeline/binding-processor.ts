import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../config/resolved-binding.js';
import type { HandlerDefinition } from '../discovery/handler-definition.js';
import { HandlerDiscoveryException } from '../errors/handler-errors.js';
import type { Delivery } from '../model/delivery.js';
import type { Outcome, RecordProcessor } from '../model/outcome.js';
import { jsonDeserializer, type Deserializer } from './deserializer.js';
import { Preparation, type Prepared } from './preparation.js';
import { isPromiseLike } from './promise-like.js';
import type { ResilienceDecorator } from './resilience/resilience-decorator.js';
import { SliceProcessor } from './slice-processor.js';
import { failedWith } from './thrown-error.js';

export interface BindingProcessorOptions {
  readonly binding: ResolvedBinding;
  /** Those of this binding: `handlersOf` picks them. */
  readonly handlers: readonly HandlerDefinition[];
  /** What is done about a call of a handler that fails. */
  readonly resilience: ResilienceDecorator;
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** Default: JSON. */
  readonly deserializer?: Deserializer;
}

/** Everything between a delivery and its outcome. Handlers of batches get whole slices. */
export function createBindingProcessor({
  binding,
  handlers,
  resilience,
  runtime,
  logger,
  deserializer = jsonDeserializer,
}: BindingProcessorOptions): RecordProcessor {
  if (handlers.length === 0) {
    throw new HandlerDiscoveryException([`Binding '${binding.name}' has no handler.`]);
  }
  const preparation = new Preparation({
    binding,
    handlers: handlers.map((handler) => withEnhancers(handler, binding)),
    deserializer,
    runtime,
    logger,
  });
  return handlers.some(({ form }) => form === 'slice')
    ? new SliceProcessor(preparation, resilience)
    : new BindingProcessor(preparation, resilience);
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
    private readonly resilience: ResilienceDecorator,
  ) {}

  process(delivery: Delivery): Outcome | Promise<Outcome> {
    try {
      const prepared = this.preparation.prepare(delivery);
      return isPromiseLike(prepared) ? this.#invokeLater(prepared) : this.#invoke(prepared);
    } catch (error) {
      return failedWith(error);
    }
  }

  #invoke(prepared: Prepared): Outcome | Promise<Outcome> {
    return prepared.kind === 'ready'
      ? this.resilience.invoke(prepared, this.preparation)
      : prepared;
  }

  async #invokeLater(prepared: Promise<Prepared>): Promise<Outcome> {
    try {
      return await this.#invoke(await prepared);
    } catch (error) {
      return failedWith(error);
    }
  }
}
