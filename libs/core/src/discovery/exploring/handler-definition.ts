import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { TopicBindingProperties } from '../../config/properties/topic-binding-properties.js';
import type { EnhancerScope } from '../calling/enhancers.js';
import type { PayloadType } from '../decorators/payload-type.js';

/** A handler that the pipeline calls: a discovered method, or a function registered at run time. */
export interface HandlerDefinition {
  readonly binding: string;
  readonly cluster: string | undefined;
  /** Event type; undefined takes every type that no other handler of the binding takes. */
  readonly type: string | undefined;
  readonly form: 'record' | 'slice';
  readonly payload: PayloadType | undefined;
  readonly filter: ((record: EventRecord) => boolean) | undefined;
  /** Properties of the binding itself that the decorator sets. */
  readonly properties: Partial<TopicBindingProperties>;
  /** Name in messages: `OrderHandlers.onPlaced in OrdersModule`. */
  readonly origin: string;
  /** Resolves a request-scoped provider, applies the local enhancers and calls the method. */
  invoke(records: readonly EventRecord[], contexts: readonly EventContext[]): unknown;
  /**
   * Creates the same call with the enhancers of a scope, for a binding that uses global enhancers.
   * Absent if the handler is no Nest provider.
   */
  readonly invokeWith?: (scope: EnhancerScope) => HandlerDefinition['invoke'];
}
