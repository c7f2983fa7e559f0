import type { BrokerRecord } from '@nest-event-bus/broker';
import type { HandlerDefinition } from '../discovery/exploring/handler-definition.js';
import type { Delivery } from '../model/outcomes/delivery.js';
import type { ReceivedContext } from './context/received-context.js';
import type { ReceivedRecord } from './context/received-record.js';

export interface DecodedKey {
  readonly key: unknown;
}

/**
 * One handler call with one record. The preparation steps set its fields. A retry is another
 * object, because the failed call may have changed the value.
 */
export class RecordCall {
  /** The decoded key. Absent if the binding decodes no keys: then it is text or a Buffer. */
  decodedKey: DecodedKey | undefined = undefined;
  /** The decoded value. */
  value: unknown;
  handler!: HandlerDefinition;
  record!: ReceivedRecord;
  context!: ReceivedContext;
  /** Calls of this delivery that failed before one succeeded. Set on the first call only. */
  failedCalls = 0;

  constructor(
    readonly delivery: Delivery,
    /** Number of the call within this delivery, from 1. */
    readonly number = 1,
    /**
     * The record as the application sees it. A record of a retry topic has the headers of its
     * producer.
     */
    readonly received: BrokerRecord = delivery.record,
  ) {}

  /**
   * Returns the same call for a later slice, with a new context; undefined if the handler has read
   * the record, and may have changed the value.
   */
  renewed(): RecordCall | undefined {
    const record = this.record.replaceUnread();
    if (!record) return undefined;
    const call = new RecordCall(this.delivery, this.number, this.received);
    call.decodedKey = this.decodedKey;
    call.value = this.value;
    call.handler = this.handler;
    call.record = record;
    call.context = this.context.renewed(call);
    return call;
  }
}
