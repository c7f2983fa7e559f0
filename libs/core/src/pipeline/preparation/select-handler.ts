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

/** Finds the handler for the type of the event, and creates the record and the context that it gets. */
export function selectHandler(
  handlers: readonly HandlerDefinition[],
  source: ContextSource,
  receiver: Receiver,
): PreparationStep {
  const { binding, eventTypeOf, logger } = source;
  const table = new HandlerTable(handlers);
  const warnings = new UnknownTypeWarnings(binding.name, logger);
  const withoutHandler = (type: string | undefined): Outcome => {
    switch (binding.unknownType) {
      case 'skip':
        warnings.warn(type);
        return unknownType;
      case 'fail':
        throw new UnknownEventTypeException(
          `Binding '${binding.name}' has no handler for ${describeType(type)}. Handle the type, add a handler without a type, or set unknownType: 'skip'.`,
        );
    }
  };
  return (call) => {
    const { delivery, value } = call;
    const type = table.isTyped ? eventTypeOf(delivery.record, value) : undefined;
    const handler = table.find(type);
    if (!handler) return withoutHandler(type);
    call.handler = handler;
    call.record = new ReceivedRecord(delivery, receiver, value);
    call.context = new ReceivedContext(source, delivery, value, call.number);
    return undefined;
  };
}

/** The handlers of one binding by event type. */
class HandlerTable {
  /** True if a handler has a type. Otherwise the type of a record need not be read. */
  readonly isTyped: boolean;
  readonly #byType = new Map<string, HandlerDefinition>();
  readonly #catchAll: HandlerDefinition | undefined;

  constructor(handlers: readonly HandlerDefinition[]) {
    const conflicts = handlerConflicts(handlers);
    if (conflicts.length > 0) throw new HandlerDiscoveryException(conflicts);
    for (const handler of handlers) {
      if (handler.type !== undefined) this.#byType.set(normaliseEventType(handler.type), handler);
    }
    this.isTyped = this.#byType.size > 0;
    this.#catchAll = handlers.find(({ type }) => type === undefined);
  }

  find(type: string | undefined): HandlerDefinition | undefined {
    const handler = type === undefined ? undefined : this.#byType.get(normaliseEventType(type));
    return handler ?? this.#catchAll;
  }
}
