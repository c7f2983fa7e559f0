import type { OutgoingHeader } from '@nest-event-bus/broker';
import type { EventContext } from '../model/records/event-context.js';
import type { EventHeaders } from '../model/records/event-record.js';
import { headerText } from '../model/records/header-text.js';

/** The record that is being handled: the context, the record or the metadata that a handler got. */
export type PublishCause = Pick<EventContext, 'raw'> | { readonly headers: EventHeaders };

/** Headers of https://www.w3.org/TR/trace-context and baggage, by which tracing tools link related events. */
const TRACE_HEADERS = ['traceparent', 'tracestate', 'baggage'] as const;

export function traceHeaders(cause: PublishCause): readonly OutgoingHeader[] {
  return TRACE_HEADERS.flatMap((key) => {
    const value = 'raw' in cause ? headerText(cause.raw.headers, key) : cause.headers.get(key);
    return value === undefined ? [] : [{ key, value }];
  });
}
