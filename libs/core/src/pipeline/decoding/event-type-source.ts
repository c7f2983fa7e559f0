import type { BrokerRecord } from '@nest-event-bus/broker';
import { headerText } from '../../model/records/header-text.js';

/** Reads the type of an event from a header, or from a field of the value. */
export type EventTypeSource = (record: BrokerRecord, value: unknown) => string | undefined;

const FIELD = '$.';

export function eventTypeSource(typeFrom: string): EventTypeSource {
  const typeOf = valueSource(typeFrom);
  return (record, value) => {
    const found = typeOf(record, value);
    return typeof found === 'string' ? found : undefined;
  };
}

/** Reads the text of a header, or the content of a field of the value. */
export function valueSource(from: string): (record: BrokerRecord, value: unknown) => unknown {
  if (!from.startsWith(FIELD)) return ({ headers }) => headerText(headers, from);
  const path = from.slice(FIELD.length).split('.');
  return (_record, value) => path.reduce(ownField, value);
}

function ownField(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
