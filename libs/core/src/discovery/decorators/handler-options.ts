import type { TopicBindingProperties } from '../../config/properties/topic-binding-properties.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { PayloadType } from './payload-type.js';

/** Which records a handler takes. All other keys are properties of the binding itself. */
export interface EventHandlerOptions<Payload = unknown> extends Partial<TopicBindingProperties> {
  /** The type of the events it takes, with or without the suffix `Event`; without one, every type that no other handler takes. */
  readonly type?: string;
  /** A class with class-validator decorators, or a Standard Schema: the handler gets nothing that does not fit. */
  readonly payload?: PayloadType<Payload>;
  /** Records it says false to are discarded. It sees the value before it was validated. */
  readonly filter?: (record: EventRecord) => boolean;
}
