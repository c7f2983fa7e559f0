import { normaliseEventType } from '../../discovery/decorators/event-type.js';
import { handlerConflicts } from '../../discovery/exploring/handler-conflicts.js';
import type { HandlerDefinition } from '../../discovery/exploring/handler-definition.js';
import { HandlerDiscoveryException } from '../../errors/handler-errors.js';

/** The handlers of one binding by event type. */
export class HandlerTable {
  readonly #byType = new Map<string, HandlerDefinition>();
  readonly #catchAll: HandlerDefinition | undefined;

  constructor(handlers: readonly HandlerDefinition[]) {
    const conflicts = handlerConflicts(handlers);
    if (conflicts.length > 0) throw new HandlerDiscoveryException(conflicts);
    for (const handler of handlers) {
      if (handler.type !== undefined) this.#byType.set(normaliseEventType(handler.type), handler);
    }
    this.#catchAll = handlers.find(({ type }) => type === undefined);
  }

  /** True if a handler has a type. Otherwise the type of a record need not be read. */
  get isTyped(): boolean {
    return this.#byType.size > 0;
  }

  find(type: string | undefined): HandlerDefinition | undefined {
    const handler = type === undefined ? undefined : this.#byType.get(normaliseEventType(type));
    return handler ?? this.#catchAll;
  }
}
