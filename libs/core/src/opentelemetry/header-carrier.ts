import type { OutgoingHeader, RecordHeader } from '@nest-event-bus/broker';
import type { TextMapGetter, TextMapSetter } from '@opentelemetry/api';

type Headers = readonly (RecordHeader | OutgoingHeader)[];

/** Reads the trace context of a record. The last header with a name counts. */
export const headerGetter: TextMapGetter<Headers> = {
  keys: (headers) => headers.map(({ key }) => key),
  get: (headers, name) => headers.findLast(({ key }) => key === name)?.value?.toString(),
};

/** Writes the trace context to a list of headers, and replaces an earlier one. */
export const headerSetter: TextMapSetter<OutgoingHeader[]> = {
  set: (headers, key, value) => {
    const others = headers.filter((header) => header.key !== key);
    headers.splice(0, headers.length, ...others, { key, value });
  },
};
