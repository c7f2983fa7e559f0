import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { TopicBindingProperties } from '../../config/properties/topic-binding-properties.js';
import type { EnhancerScope } from '../calling/enhancers.js';
import type { PayloadType } from '../decorators/payload-type.js';

/** A handler method that was found, or a function that was registered: what the pipeline calls. */
export interface HandlerDefinition {
  readonly binding: string;
  readonly cluster: string | undefined;
  /** undefined takes every type that no other handler of the binding takes. */
  readonly type: string | undefined;
  readonly form: 'record' | 'slice';
  readonly payload: PayloadType | undefined;
  readonly filter: ((record: EventRecord) => boolean) | undefined;
  /** What the decorator says about the binding itself. */
  readonly properties: Partial<TopicBindingProperties>;
  /** For messages: `OrderHandlers.onPlaced in OrdersModule`. */
  readonly origin: string;
  /** Resolves a request-scoped provider, applies the local enhancers and calls the method. */
  invoke(records: readonly EventRecord[], contexts: readonly EventContext[]): unknown;
  /** The same with the global enhancers too, where the binding asks for them. Absent where there are none to apply. */
  readonly invokeWith?: (scope: EnhancerScope) => HandlerDefinition['invoke'];
}
