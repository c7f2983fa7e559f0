import type { DriverLogger } from '@nest-event-bus/broker';
import type { Runtime } from '@nest-event-bus/broker/runtime';
import type { ResolvedBinding } from '../config/resolved-binding.js';
import type { HandlerDefinition } from '../discovery/handler-definition.js';
import { HandlerDiscoveryException } from '../errors/handler-errors.js';
import type { Delivery } from '../model/delivery.js';
import type { Outcome, RecordProcessor } from '../model/outcome.js';
import { jsonDeserializer, type Deserializer } from './deserializer.js';
import { Preparation, type Prepared, type ReadyRecord } from './preparation.js';
import { isPromiseLike } from './promise-like.js';
import { SliceProcessor } from './slice-processor.js';
import { failedWith } from './thrown-error.js';

export interface BindingProcessorOptions {
  readonly binding: ResolvedBinding;
  /** Those of this binding: `handlersOf` picks them. */
  readonly handlers: readonly HandlerDefinition[];
  readonly runtime: Runtime;
  readonly logger: DriverLogger;
  /** Default: JSON. */
  readonly deserializer?: Deserializer;
}

/** Everything between a delivery and its outcome. Handlers of batches get whole slices. */
export function createBindingProcessor({
  binding,
  handlers,
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
    ? new SliceProcessor(preparation)
    : new BindingProcessor(preparation);
}

function withEnhancers(handler: HandlerDefinition, binding: ResolvedBinding): HandlerDefinition {
  const { invokeWith } = handler;
  return binding.enhancers === 'local' || !invokeWith
    ? handler
    : { ...handler, invoke: invokeWith(binding.enhancers) };
}

/** Never throws: whatever goes wrong is the outcome of the record. Without anything asynchronous it returns no promise. */
class BindingProcessor implements RecordProcessor {
  constructor(private readonly preparation: Preparation) {}

  process(delivery: Delivery): Outcome | Promise<Outcome> {
    try {
      const prepared = this.preparation.prepare(delivery);
      return isPromiseLike(prepared) ? invokeLater(prepared) : invoke(prepared);
    } catch (error) {
      return failedWith(error);
    }
  }
}

function invoke(prepared: Prepared): Outcome | Promise<Outcome> {
  if (prepared.kind !== 'ready') return prepared;
  const { handler, record, context } = prepared;
  const result = handler.invoke([record], [context]);
  return isPromiseLike(result) ? settledLater(result, prepared) : context.settle();
}

async function invokeLater(prepared: Promise<Prepared>): Promise<Outcome> {
  try {
    return await invoke(await prepared);
  } catch (error) {
    return failedWith(error);
  }
}

async function settledLater(
  result: PromiseLike<unknown>,
  { context }: ReadyRecord,
): Promise<Outcome> {
  try {
    await result;
    return context.settle();
  } catch (error) {
    return failedWith(error);
  }
}
