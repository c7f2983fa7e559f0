/** The base of all errors of the outbox. `code` is stable. */
export abstract class OutboxError extends Error {
  abstract readonly code: string;
  /** Says whether the same call may succeed later without a change of the program. */
  abstract readonly retriable: boolean;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}
