import type { OutgoingHeader } from '@nest-event-bus/broker';
import { EventPublishException } from '../errors/publish-errors.js';
import { hasEventBusPrefix } from '../model/records/event-bus-headers.js';
import type { PublishOptions, PublishTarget } from './event-publisher.js';
import { traceHeaders } from './trace-headers.js';

/**
 * Returns the headers of an event: first those of the format and the trace, then the caller's, which
 * win over the others by name. Headers that the bus wrote on another record are dropped, because a new
 * event that carries them would be taken for a replay of that record.
 */
export function headersOf(
  target: PublishTarget,
  { headers = {}, type, cause }: PublishOptions,
  ofFormat: Readonly<Record<string, string>> = {},
): OutgoingHeader[] {
  const given = Object.entries(headers).flatMap(([key, value]) => {
    if (hasEventBusPrefix(key)) return [];
    return Array.isArray(value)
      ? value.map((each: string | Buffer) => ({ key, value: each }))
      : [{ key, value: value as string | Buffer | null }];
  });
  const typed = type === undefined ? [] : [typeHeader(target, type)];
  const added = [
    ...Object.entries(ofFormat).map(([key, value]) => ({ key, value })),
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
