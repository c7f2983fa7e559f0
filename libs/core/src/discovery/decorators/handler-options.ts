import type { TopicBindingProperties } from '../../config/properties/topic-binding-properties.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { PayloadType } from './payload-type.js';

/**
 * Options that select the records of a handler. All other keys of this object are options of the
 * binding.
 */
export interface EventHandlerOptions<Payload = unknown> extends Partial<TopicBindingProperties> {
  /**
   * Event type that the handler handles, with or without the suffix `Event`. If absent, it handles
   * every type that no other handler handles.
   */
  readonly type?: string;
  /**
   * A class with class-validator decorators, or a Standard Schema. The handler gets only payloads
   * that are valid for it.
   */
  readonly payload?: PayloadType<Payload>;
  /** Returns false to discard a record. It is called before the value is validated. */
  readonly filter?: (record: EventRecord) => boolean;
}
