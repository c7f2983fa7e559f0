import type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';
import type { Delivery } from '../model/outcomes/delivery.js';
import type { ReceivedContext } from './context/received-context.js';
import type { ReceivedRecord } from './context/received-record.js';

/**
 * A call of a handler with one record. The preparation steps set its fields. A retry is another
 * call, because the failed one may have changed the value.
 */
export class RecordCall {
  /** The decoded value. */
  value: unknown;
  handler!: HandlerDefinition;
  record!: ReceivedRecord;
  context!: ReceivedContext;

  constructor(
    readonly delivery: Delivery,
    /** Counts the calls of this delivery, from 1. */
    readonly number = 1,
  ) {}
}
