import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';
import type { HandlerArguments } from './parameter-value.js';

/** The REQUEST that a request-scoped provider injects. */
export type EventBusRequest =
  | { readonly record: EventRecord; readonly context: EventContext }
  | { readonly records: readonly EventRecord[]; readonly contexts: readonly EventContext[] };

export function requestOf([records, contexts]: HandlerArguments): EventBusRequest {
  return Array.isArray(records)
    ? { records, contexts: contexts as readonly EventContext[] }
    : { record: records as EventRecord, context: contexts as EventContext };
}
