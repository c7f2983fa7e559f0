import { OutboxError } from '@nest-event-bus/outbox';
import {
  OutboxSchemaMissingError,
  OutboxSchemaVersionError,
  OutboxStoreException,
} from './store-errors.js';

/** The version of the tables that this release reads and writes. */
export const SCHEMA_VERSION = 2;

const MISSING_TABLE = new Set(['42P01', 'ER_NO_SUCH_TABLE']);
const MISSING_COLUMN = new Set(['42703', 'ER_BAD_FIELD_ERROR']);

/**
 * Codes after which the same statement may succeed: connections, time-outs, deadlocks and shut
 * downs.
 */
const RETRIABLE =
  /^(08\w{3}|40\w{3}|53\w{3}|55P03|57P0\d|57014|25P0[23]|E[A-Z]{3,}|PROTOCOL_\w+|ER_LOCK_\w+|ER_CON_COUNT_ERROR|ER_SERVER_SHUTDOWN|ER_QUERY_INTERRUPTED|SQLITE_BUSY\w*|SQLITE_LOCKED\w*)$/;

/** Returns a typed error for an error of a driver. Errors of the outbox stay as they are. */
export function translateError(error: unknown, operation: string, table: string): OutboxError {
  if (error instanceof OutboxError) return error;
  const { code, message } = detailsOf(error);
  if (MISSING_TABLE.has(code) || message.startsWith('no such table'))
    return new OutboxSchemaMissingError(table, error);
  if (MISSING_COLUMN.has(code) || /no such column|has no column/.test(message))
    return new OutboxSchemaVersionError(table, 'older', SCHEMA_VERSION, error);
  return new OutboxStoreException(operation, error, isRetriable(code, message));
}

/** A connection that ends during a statement has no code in pg. */
function isRetriable(code: string, message: string): boolean {
  if (code !== '' && code !== 'ERR_SQLITE_ERROR') return RETRIABLE.test(code);
  return /connection|timeout|closed|database is locked/i.test(message);
}

function detailsOf(error: unknown): { readonly code: string; readonly message: string } {
  const { code, message } = (error ?? {}) as {
    readonly code?: unknown;
    readonly message?: unknown;
  };
  return {
    code: typeof code === 'string' ? code : '',
    message: typeof message === 'string' ? message : '',
  };
}
