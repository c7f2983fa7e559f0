/**
 * RabbitMQ cannot be started on this machine. Test suites are then skipped with this message.
 */
export class RabbitUnavailableError extends Error {
  readonly code = 'TEST_RABBIT_UNAVAILABLE';
  readonly retriable = false;

  constructor(reason: string, options?: ErrorOptions) {
    super(`skipped: needs RabbitMQ (${reason})`, options);
    this.name = new.target.name;
  }
}

/**
 * A server was launched but did not become ready, or it refused a request of its management API.
 * This is a failure, never a reason to skip a test suite.
 */
export class RabbitServerError extends Error {
  readonly code = 'TEST_RABBIT';
  readonly retriable = true;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
