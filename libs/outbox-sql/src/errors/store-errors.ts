import { OutboxError } from '@nest-event-bus/outbox';

/** The database refused a statement of the outbox, or could not be reached. */
export class OutboxStoreException extends OutboxError {
  readonly code = 'OUTBOX_STORE_FAILED';

  constructor(
    operation: string,
    cause: unknown,
    readonly retriable: boolean,
  ) {
    super(`${operation} failed in the database${codeOf(cause)}. The cause has the details.`, {
      cause,
    });
  }
}

/** The outbox table does not exist. */
export class OutboxSchemaMissingError extends OutboxError {
  readonly code = 'OUTBOX_SCHEMA_MISSING';
  readonly retriable = false;

  constructor(table: string, cause?: unknown) {
    super(
      `The outbox table ${table}, or a table that belongs to it, does not exist. Call migrate() of its schema, or run the statements of sql().`,
      { cause },
    );
  }
}

/** The outbox table has another version than this release needs. */
export class OutboxSchemaVersionError extends OutboxError {
  readonly code = 'OUTBOX_SCHEMA_VERSION';
  readonly retriable = false;

  constructor(table: string, found: number | 'older', needed: number, cause?: unknown) {
    super(
      `The outbox table ${table} has the schema version ${found}, and version ${needed} is needed. ${
        found === 'older' || found < needed
          ? 'Call migrate() of its schema.'
          : 'Install the release that created it.'
      }`,
      { cause },
    );
  }
}

/** The isolation level of a connection does not allow several claims at the same time. */
export class OutboxIsolationError extends OutboxError {
  readonly code = 'OUTBOX_ISOLATION_LEVEL';
  readonly retriable = false;

  constructor(level: string) {
    super(
      `The connections of the outbox have the isolation level ${level}. Claims need READ COMMITTED: set default_transaction_isolation of the pool that the dispatcher uses.`,
    );
  }
}

/** The package of a database driver is not installed. */
export class OutboxDriverMissingError extends OutboxError {
  readonly code = 'OUTBOX_DRIVER_MISSING';
  readonly retriable = false;

  constructor(driver: string, install: string, cause?: unknown) {
    super(`The driver ${driver} cannot be loaded. Install it: ${install}`, { cause });
  }
}

const KNOWN_CODE = /^[A-Za-z0-9_]{2,40}$/;

function codeOf(cause: unknown): string {
  const code = (cause as { readonly code?: unknown } | null)?.code;
  return typeof code === 'string' && KNOWN_CODE.test(code) ? ` (${code})` : '';
}
