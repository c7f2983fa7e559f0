import type { OutgoingHeader, OutgoingRecord } from '@nest-event-bus/broker';
import { EventPublishException } from '../errors/publish-errors.js';
import { hasEventBusPrefix } from '../model/records/event-bus-headers.js';
import type { PublishOptions, PublishTarget } from './event-publisher.js';
import type { SerializedForm } from './serialize-event.js';
import { traceHeaders } from './trace-headers.js';

/** Creates the record of an event. An event without a key gets the key null. */
export function outgoingRecord(
  target: PublishTarget,
  { value, headers }: SerializedForm,
  options: Omit<PublishOptions, 'signal'>,
): OutgoingRecord {
  return {
    topic: target.topic,
    key: options.key ?? null,
    value,
    headers: headersOf(target, options, headers),
    timestamp: options.timestamp,
  };
}

const NO_HEADERS: readonly OutgoingHeader[] = Object.freeze([]);

/**
 * Returns the headers of an event: first those of the format and the trace, then the caller's,
 * which replace others with the same name. Headers that the bus has written to another record are
 * dropped, because the new event would be taken for a replay of that record.
 */
function headersOf(
  target: PublishTarget,
  { headers, type, cause }: Omit<PublishOptions, 'signal'>,
  ofFormat: Readonly<Record<string, string>> | undefined,
): readonly OutgoingHeader[] {
  const typed = type === undefined ? NO_HEADERS : [typeHeader(target, type)];
  if (!headers && !cause && !ofFormat) return typed;
  const given = Object.entries(headers ?? {}).flatMap(([key, value]) => {
    if (hasEventBusPrefix(key)) return [];
    return Array.isArray(value)
      ? value.map((each: string | Buffer) => ({ key, value: each }))
      : [{ key, value: value as string | Buffer | null }];
  });
  const added = [
    ...Object.entries(ofFormat ?? {}).map(([key, value]) => ({ key, value })),
    ...(cause ? traceHeaders(cause) : []),
  ];
  return [...without(added, [...given, ...typed]), ...without(given, typed), ...typed];
}

function without(
  headers: readonly OutgoingHeader[],
  others: readonly OutgoingHeader[],
): readonly OutgoingHeader[] {
  return headers.filter(({ key }) => !others.some((other) => other.key === key));
}

function typeHeader({ binding, typeFrom }: PublishTarget, type: string): OutgoingHeader {
  if (!typeFrom.startsWith('$.')) return { key: typeFrom, value: type };
  throw new EventPublishException(
    `Cannot publish to binding '${binding}' with a type: its types are read from the field ${typeFrom} of the value. Put the type there and leave the option out.`,
  );
}
