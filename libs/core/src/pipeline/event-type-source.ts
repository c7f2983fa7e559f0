import type { BrokerRecord } from '@nest-event-bus/broker';
import { headerText } from './header-text.js';

/** Where the type of an event is told: a header, or a field of the value. */
export type EventTypeSource = (record: BrokerRecord, value: unknown) => string | undefined;

const FIELD = '$.';

export function eventTypeSource(typeFrom: string): EventTypeSource {
  if (!typeFrom.startsWith(FIELD)) return ({ headers }) => headerText(headers, typeFrom);
  const path = typeFrom.slice(FIELD.length).split('.');
  return (_record, value) => {
    const found = path.reduce(ownField, value);
    return typeof found === 'string' ? found : undefined;
  };
}

function ownField(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
