import { IllegalArgumentError } from '@nest-event-bus/outbox';

export const DEFAULT_TABLE = 'outbox_event';

/** Table names are the only text that is put into a statement, so nothing else may be in them. */
const TABLE_NAME = /^[A-Za-z_][A-Za-z0-9_]{0,47}(\.[A-Za-z_][A-Za-z0-9_]{0,47})?$/;

/** Returns the name if it is a plain identifier, with or without a schema before it. */
export function checkedTableName(name: string): string {
  if (typeof name === 'string' && TABLE_NAME.test(name)) return name;
  throw new IllegalArgumentError(
    'The name of the outbox table is not a plain identifier. Use at most 48 letters, digits and underscores, with a schema before it if needed: schema.outbox_event.',
  );
}

/** The name without its schema, for names of indexes. */
export const withoutSchema = (table: string): string => table.split('.').at(-1) ?? table;
