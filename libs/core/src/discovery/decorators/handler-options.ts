import type { TopicBindingProperties } from '../../config/properties/topic-binding-properties.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { PayloadType } from './payload-type.js';

/** Options that select the records of a handler. All other keys are properties of the binding itself. */
export interface EventHandlerOptions<Payload = unknown> extends Partial<TopicBindingProperties> {
  /**
   * Event type that the handler takes, with or without the suffix `Event`. Left out: every type
   * that no other handler takes.
   */
  readonly type?: string;
  /** A class with class-validator decorators, or a Standard Schema. The handler only gets valid payloads. */
  readonly payload?: PayloadType<Payload>;
  /** Decides by false that a record is discarded. Called before the value is validated. */
  readonly filter?: (record: EventRecord) => boolean;
}
