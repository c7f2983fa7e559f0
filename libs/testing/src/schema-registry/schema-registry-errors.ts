/** A schema registry cannot be started on this machine: test suites skip with this message. */
export class SchemaRegistryUnavailableError extends Error {
  readonly code = 'TEST_SCHEMA_REGISTRY_UNAVAILABLE';
  readonly retriable = false;

  constructor(reason: string, options?: ErrorOptions) {
    super(`skipped: needs a schema registry (${reason})`, options);
    this.name = new.target.name;
  }
}

/**
 * A registry was launched but did not become ready, or refused a schema: never a reason to skip.
 */
export class SchemaRegistryError extends Error {
  readonly code = 'TEST_SCHEMA_REGISTRY';
  readonly retriable = true;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
