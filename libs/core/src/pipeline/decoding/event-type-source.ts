import type { BrokerRecord } from '@nest-event-bus/broker';
import { headerText } from '../../model/records/header-text.js';

/** Where the type of an event is told: a header, or a field of the value. */
export type EventTypeSource = (record: BrokerRecord, value: unknown) => string | undefined;

const FIELD = '$.';

export function eventTypeSource(typeFrom: string): EventTypeSource {
  const typeOf = valueSource(typeFrom);
  return (record, value) => {
    const found = typeOf(record, value);
    return typeof found === 'string' ? found : undefined;
  };
}

/** The text of a header, or whatever the field of the value holds. */
export function valueSource(from: string): (record: BrokerRecord, value: unknown) => unknown {
  if (!from.startsWith(FIELD)) return ({ headers }) => headerText(headers, from);
  const path = from.slice(FIELD.length).split('.');
  return (_record, value) => path.reduce(ownField, value);
}

function ownField(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
