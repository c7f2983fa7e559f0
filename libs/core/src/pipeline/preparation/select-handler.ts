import { normaliseEventType } from '../../discovery/decorators/event-type.js';
import { handlerConflicts } from '../../discovery/exploring/handler-conflicts.js';
import type { HandlerDefinition } from '../../discovery/exploring/handler-definition.js';
import {
  HandlerDiscoveryException,
  UnknownEventTypeException,
} from '../../errors/handler-errors.js';
import type { Outcome } from '../../model/outcomes/outcome.js';
import { ReceivedContext, type ContextSource } from '../context/received-context.js';
import type { Receiver } from '../context/received-headers.js';
import { ReceivedRecord } from '../context/received-record.js';
import type { PreparationStep } from '../pipeline-step.js';
import { UnknownTypeWarnings, describeType } from './unknown-type-warnings.js';

const unknownType: Outcome = Object.freeze({ kind: 'discarded', reason: 'unknown-type' });

/**
 * Finds the handler for the type of the event, and creates the record and the context that it gets.
 */
export function selectHandler(
  handlers: readonly HandlerDefinition[],
  source: ContextSource,
  receiver: Receiver,
): PreparationStep {
  const { binding, eventTypeOf, logger } = source;
  const typed = handlersByType(handlers);
  const catchAll = handlers.find(({ type }) => type === undefined);
  const warnings = new UnknownTypeWarnings(binding, logger);
  const withoutHandler = (type: string | undefined): Outcome => {
    switch (binding.unknownType) {
      case 'skip':
        warnings.warn(type);
        return unknownType;
      case 'fail':
        throw new UnknownEventTypeException(
          `Binding '${binding.name}' has no handler for ${describeType(type, binding.typeFrom)}. Handle the type, add a handler without a type, or set unknownType: 'skip'.`,
        );
    }
  };
  return (call) => {
    const { received, value } = call;
    // The type is read only if a handler has one.
    const type = typed.size > 0 ? eventTypeOf(received, value) : undefined;
    const handler =
      (type === undefined ? undefined : typed.get(normaliseEventType(type))) ?? catchAll;
    if (!handler) return withoutHandler(type);
    call.handler = handler;
    call.record = new ReceivedRecord(call, receiver, value);
    call.context = new ReceivedContext(source, call);
    return undefined;
  };
}

function handlersByType(
  handlers: readonly HandlerDefinition[],
): ReadonlyMap<string, HandlerDefinition> {
  const conflicts = handlerConflicts(handlers);
  if (conflicts.length > 0) throw new HandlerDiscoveryException(conflicts);
  return new Map(
    handlers.flatMap((handler) =>
      handler.type === undefined ? [] : [[normaliseEventType(handler.type), handler]],
    ),
  );
}
