import type { EventContext } from '../../model/records/event-context.js';
import type { EventRecord } from '../../model/records/event-record.js';

/**
 * Arguments of a handler before parameter decorators are applied: a record and its context, or
 * arrays of both.
 */
export type HandlerArguments =
  | readonly [record: EventRecord, context: EventContext]
  | readonly [records: readonly EventRecord[], contexts: readonly EventContext[]];

export type ParameterName = 'payload' | 'key' | 'header' | 'headers' | 'context' | 'record';

type Reader = (record: EventRecord, field: string | undefined) => unknown;

const READERS: Readonly<Record<Exclude<ParameterName, 'context' | 'record'>, Reader>> =
  Object.freeze({
    payload: ({ value }, field) => (field === undefined ? value : fieldOf(value, field)),
    key: ({ key }) => key,
    header: ({ headers }, name) => headers.get(name ?? ''),
    headers: ({ headers }) => headers,
  });

export function parameterValue(
  name: ParameterName,
  field: string | undefined,
  [records, contexts]: HandlerArguments,
): unknown {
  if (name === 'context') return contexts;
  if (name === 'record') return records;
  const read = READERS[name];
  return isSlice(records) ? records.map((record) => read(record, field)) : read(records, field);
}

function isSlice(records: EventRecord | readonly EventRecord[]): records is readonly EventRecord[] {
  return Array.isArray(records);
}

function fieldOf(value: unknown, field: string): unknown {
  if (typeof value !== 'object' || value === null) return undefined;
  return (value as Readonly<{ [key: string]: unknown }>)[field];
}
